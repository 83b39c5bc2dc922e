//! Opens a store that this process cannot write: on a disk that is mounted read-only, or without the permission.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Store;
use crate::error::{Error, Result};
use crate::held::HeldFile;
use crate::sqlite::{self, FileHeader};
use crate::whole_file::{beside, copy as copy_file};

/// How the names of copies begin, in the directory for temporary files.
const COPIES: &str = "writ-read-";
/// How often a store that others change is copied again before it counts as busy.
const COPIES_MAX: usize = 5;

/// Opens the store for reading. `known` is the supported schema; an older one would have to be migrated.
pub(crate) fn open(path: &Path, known: usize) -> Result<Store> {
    let (connection, header) = connect(path)?;
    match header {
        FileHeader::Foreign => return Err(Error::not_a_store(path)),
        // It would have to be made.
        FileHeader::Fresh => return Err(Error::ReadOnly),
        FileHeader::Ours { schema } => match usize::try_from(schema) {
            Ok(found) if found == known => {}
            Ok(found) if found > known => {
                let known = i64::try_from(known).expect("BUG: few migrations");
                return Err(Error::Newer { found: i64::from(schema), known });
            }
            Ok(found) if found > 0 => return Err(Error::OlderReadOnly { found, known }),
            Ok(_) | Err(_) => return Err(Error::Corrupt(format!("its schema version is {schema}"))),
        },
    }
    Ok(Store::on(connection, path))
}

fn connect(path: &Path) -> Result<(Connection, FileHeader)> {
    // With the log and its index there, SQLite reads through them, also beside a writer.
    if let Ok(found) = ready(path, OpenFlags::empty()) {
        return Ok(found);
    }
    let failed = |source| Error::opening(path, source);
    let real = fs::canonicalize(path).map_err(|source| Error::Input { path: path.to_owned(), source })?;
    let has_log = fs::metadata(beside(&real, "-wal")).is_ok_and(|log| log.len() > 0);
    if !has_log && is_mounted_read_only(&real) {
        // Nobody can change the file, so it needs neither locks nor a log.
        return ready(&immutable(&real), OpenFlags::SQLITE_OPEN_URI).map_err(failed);
    }
    let copy = Copy::new(&real)?;
    // The connection keeps the copy readable after its name is gone.
    ready(&immutable(&copy.file()), OpenFlags::SQLITE_OPEN_URI).map_err(failed)
}

fn ready(path: &Path, more: OpenFlags) -> rusqlite::Result<(Connection, FileHeader)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    sqlite::configure(&connection)?;
    let header = sqlite::header(&connection)?;
    Ok((connection, header))
}

fn is_mounted_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// The path as a URI that says that the file never changes.
fn immutable(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    PathBuf::from(uri + "?immutable=1")
}

/// A copy of the database with its log merged into it, in a directory that is removed again.
struct Copy(HeldFile);

impl Copy {
    fn new(real: &Path) -> Result<Self> {
        let copy = Self(HeldFile::directory(&std::env::temp_dir().join(COPIES))?);
        let endings = ["", "-wal"];
        for _ in 0..COPIES_MAX {
            let before = endings.map(|ending| stamp(&beside(real, ending)));
            for ending in endings {
                let (from, to) = (beside(real, ending), beside(&copy.file(), ending));
                match copy_file(&from, &to) {
                    Ok(()) => {}
                    Err(Error::Input { source, .. })
                        if ending == "-wal" && source.kind() == io::ErrorKind::NotFound =>
                    {
                        fs::remove_file(&to).ok();
                    }
                    Err(error) => return Err(error),
                }
            }
            if before == endings.map(|ending| stamp(&beside(real, ending))) {
                copy.merge().map_err(|source| Error::opening(real, source))?;
                return Ok(copy);
            }
        }
        Err(Error::Busy)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("writ.db")
    }

    /// Moves the log into the file.
    fn merge(&self) -> rusqlite::Result<()> {
        let connection = Connection::open_with_flags(self.file(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
    }
}

/// Changes whenever the file does.
fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}
