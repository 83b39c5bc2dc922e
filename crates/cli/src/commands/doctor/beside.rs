//! What is beside the log: the key and what it seals, the output of children, looks at workspaces, and copies.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::domain::text::counted;
use ops::Result;

use super::DoctorFinding;
use crate::app::Globals;
use crate::host;

/// Bits of a mode that let others than the owner use a file.
const OTHERS: u32 = 0o077;

/// Whether the key is there, and everything beside the log is as it was sealed.
pub(super) fn seal(found: &ops::audit::Found) -> DoctorFinding {
    let (well, said) = match (&found.seal_not_checked, found.tables.as_slice()) {
        (_, [first, ..]) => (false, format!("{first}; see `writ audit verify`")),
        (Some(why), []) => (false, format!("not checked: {why}")),
        (None, []) => (true, "every seal fits".to_owned()),
    };
    DoctorFinding::new("seal", well, said)
}

/// The key, the directories beside the store, and copies of it.
pub(super) fn files(globals: &Globals, store: &Path) -> Result<[DoctorFinding; 4]> {
    let (logs, index) = (host::logs_directory(globals)?, host::index_directory(globals)?);
    Ok([
        key(store),
        directory("logs", "files of children's output", &logs),
        directory("index", "looks at workspaces", &index),
        copies(store),
    ])
}

/// Who can read the key can forge the store.
fn key(store: &Path) -> DoctorFinding {
    let path = ops::key_file(store);
    let (well, said) = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => (
            false,
            format!(
                "{} is missing: the store can be read and not written. Put it back, or `writ audit reseal` makes a new one",
                path.display()
            ),
        ),
        Err(error) => (false, format!("could not be looked at: {}: {error}", path.display())),
        Ok(found) if found.mode() & OTHERS != 0 => {
            let (path, mode) = (path.display(), found.mode() & 0o7777);
            (false, format!("{path} has mode {mode:04o}: others can use it. Set it with `chmod 600 {path}`"))
        }
        Ok(found) => {
            let (path, bytes, mode) = (path.display(), found.len(), found.mode() & 0o7777);
            (true, format!("{path}, {bytes} bytes, mode {mode:04o}; `writ backup` copies it"))
        }
    };
    DoctorFinding::new("key", well, said)
}

/// Not part of a backup; `writ gc` removes what is old.
fn directory(what: &'static str, contents: &str, directory: &Path) -> DoctorFinding {
    let sizes: Vec<u64> = fs::read_dir(directory)
        .map(|entries| entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|m| m.len()).collect())
        .unwrap_or_default();
    let (files, kibibytes) = (sizes.len(), sizes.iter().sum::<u64>() / 1024);
    let said = format!("{files} {contents}, {kibibytes} KiB, in {}", directory.display());
    DoctorFinding::new(what, true, said)
}

/// Backups before migrations, rescued copies, and what a salvage left out. A person decides how long they are needed.
fn copies(store: &Path) -> DoctorFinding {
    let own = ops::names_of(store);
    let found: Vec<PathBuf> =
        ops::files_of(store).unwrap_or_default().into_iter().filter(|file| !own.contains(file)).collect();
    let bytes: u64 = found.iter().filter_map(|file| fs::metadata(file).ok()).map(|m| m.len()).sum();
    let said = match found.first() {
        None => "none beside the store".to_owned(),
        Some(first) => {
            let files = counted(found.len(), "file");
            format!("{files}, {} KiB, beginning with {}", bytes / 1024, first.display())
        }
    };
    DoctorFinding::new("copies", true, said)
}

/// What rollbacks need, which is not part of a backup either.
pub(super) fn snapshots(globals: &Globals) -> Result<DoctorFinding> {
    let directory = host::snapshots_directory(globals)?;
    let is_record = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".before");
    let records = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let count = records.filter(|entry| is_record(&entry.file_name())).count();
    let said = format!("{count} snapshots of what tasks may write, in {}", directory.display());
    Ok(DoctorFinding::new("snapshots", true, said))
}
