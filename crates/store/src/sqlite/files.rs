//! The files of a store, for removing it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::sqlite::APPLICATION_ID;
use crate::whole_file::{beside, directory};

/// Where SQLite's file format keeps the application id.
const APPLICATION_ID_AT: usize = 68;
/// The ending of the file with events that a salvage found in no chain.
pub(crate) const UNCHAINED: &str = ".unchained.ndjson";
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether the file is a store of writ, of any version. Reads only the header of the file, so a damaged
/// store is recognized, but not a new one whose first page is still in the write-ahead log.
pub fn is_store(path: &Path) -> io::Result<bool> {
    let mut header = Vec::new();
    let end = APPLICATION_ID_AT + APPLICATION_ID.to_be_bytes().len();
    fs::File::open(path)?.take(end as u64).read_to_end(&mut header)?;
    Ok(header.starts_with(MAGIC) && header.get(APPLICATION_ID_AT..) == Some(&APPLICATION_ID.to_be_bytes()))
}

/// Where a store has its database, what SQLite keeps beside it, and its key, whether they exist or not.
pub fn names_of(path: &Path) -> Vec<PathBuf> {
    ["", "-wal", "-shm", "-journal", ".key"].map(|ending| beside(path, ending)).into()
}

/// The files that exist of a store: the database, what SQLite keeps beside it, its key, the events that a salvage found in
/// no chain, backups before migrations, and copies that were rescued from a store that was replaced.
pub fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let names = names_of(path).into_iter().chain([beside(path, UNCHAINED)]);
    let mut files: Vec<PathBuf> = names.filter(|file| file.is_file()).collect();
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(files) };
    let start = format!("{name}.schema");
    let rescued = format!("{name}.rescued-");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_backup = |found: &str| {
        if let Some(rest) = found.strip_prefix(&rescued) {
            let endings = ["", "-wal", "-shm", ".key"];
            return endings.iter().any(|ending| rest.strip_suffix(ending).is_some_and(is_number));
        }
        let rest = found.strip_prefix(&start).and_then(|rest| rest.split_once('-'));
        rest.is_some_and(|(schema, rest)| {
            let when = rest.trim_end_matches(".part").strip_suffix(".backup");
            is_number(schema) && when.is_some_and(is_number)
        })
    };
    let mut backups = Vec::new();
    for entry in fs::read_dir(directory(path))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_backup) {
            backups.push(entry.path());
        }
    }
    backups.sort();
    files.extend(backups);
    Ok(files)
}

#[cfg(test)]
mod tests;
