//! Errors of the store, named after what was attempted.

use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::json::canonical::NotCanonical;
use contract::secrets::{SECRET_HINT, Secret};

/// What helps while writ is halted.
const HALTED_HINT: &str =
    "`writ status` says why; a person lifts the halt with `writ resume-all`, then repeat the call";

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not open the store at {}", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("could not create the store's directory {}", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("could not create the store's file {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("could not create the backup {}", path.display())]
    Backup { path: PathBuf, source: std::io::Error },
    #[error("could not write {}", path.display())]
    Output { path: PathBuf, source: std::io::Error },
    #[error("could not read {}", path.display())]
    Input { path: PathBuf, source: std::io::Error },
    #[error("{} already exists", path.display())]
    Exists { path: PathBuf },
    #[error("the store is not empty: table {table} has rows")]
    NotEmpty { table: String },
    #[error(
        "the export was made by another version of writ: it has schema {found}, this version supports {known}"
    )]
    OtherExport { found: usize, known: usize },
    #[error("the export cannot be imported{}: {message}", at_line(*line))]
    Transfer { line: u64, message: String },
    #[error("{} is not a vybe database: it has no table {table}", path.display())]
    NotVybe { path: PathBuf, table: &'static str },
    #[error("{} belongs to another program", path.display())]
    Foreign { path: PathBuf },
    #[error(
        "the store was written by a newer version of writ: it has schema {found}, this version supports {known}"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "the store has schema {found} and this version needs {known}, but it cannot be written to migrate it"
    )]
    OlderReadOnly { found: usize, known: usize },
    #[error("{} is on a network file system ({name}), where the write-ahead log is not safe", path.display())]
    NetworkFileSystem { path: PathBuf, name: &'static str },
    #[error("the store's key {} {problem}", path.display())]
    Key { path: PathBuf, problem: String },
    #[error("the store's key {} is missing", path.display())]
    NoKey { path: PathBuf },
    #[error("the store at {} {problem} while it was open{}", path.display(), but_written(*written))]
    Replaced { path: PathBuf, problem: &'static str, written: bool },
    #[error("the store at {} {problem}, so not everyone would see what is written to it", path.display())]
    OtherName { path: PathBuf, problem: String },
    #[error("writ is halted{}", because(reason.as_deref()))]
    Halted { reason: Option<String> },
    #[error("writ was halted while this process worked, so it can write nothing any more")]
    Outlived,
    #[error("the store is busy: other writers did not finish in time")]
    Busy,
    #[error("the disk that holds the store is full")]
    Full,
    #[error("the store is not writable")]
    ReadOnly,
    #[error("could not read or write the store's file")]
    Unavailable(#[source] rusqlite::Error),
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    #[error("a database statement failed")]
    Sql(#[source] rusqlite::Error),
    #[error("a change does not match the tables: it would change {rows} rows instead of one")]
    Unfit { rows: usize },
    #[error("`{}` contains a secret ({})", .0.path, .0.rule)]
    Secret(Secret),
    #[error("an event has no canonical form")]
    NotCanonical(#[from] NotCanonical),
}

impl Error {
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Foreign { .. } => ErrorCode::ForeignStore,
            Error::Newer { .. } => ErrorCode::NewerStore,
            Error::Busy => ErrorCode::Busy,
            Error::Halted { .. } | Error::Outlived => ErrorCode::Halted,
            Error::Replaced { .. } => ErrorCode::StoreReplaced,
            Error::Input { .. } | Error::Output { .. } => ErrorCode::Io,
            Error::Exists { .. } => ErrorCode::AlreadyExists,
            Error::NotEmpty { .. } => ErrorCode::WrongState,
            Error::OtherExport { .. } => ErrorCode::UnsupportedVersion,
            Error::Transfer { .. } | Error::NotVybe { .. } => ErrorCode::InvalidInput,
            Error::Corrupt(_) => ErrorCode::Corrupt,
            Error::Open { .. }
            | Error::Directory { .. }
            | Error::File { .. }
            | Error::Backup { .. }
            | Error::NetworkFileSystem { .. }
            | Error::Key { .. }
            | Error::NoKey { .. }
            | Error::OtherName { .. }
            | Error::Full
            | Error::ReadOnly
            | Error::OlderReadOnly { .. }
            | Error::Unavailable(_) => ErrorCode::StoreUnavailable,
            Error::Sql(_) | Error::Unfit { .. } => ErrorCode::Bug,
            Error::Secret(_) | Error::NotCanonical(_) => ErrorCode::InvalidInput,
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Foreign { .. } => Some(
                "choose another file with --db-path or WRIT_DB; `writ import --from vybe FILE` reads a vybe database \
                 into a new store",
            ),
            Error::Input { .. } => Some("check the path and its permissions"),
            Error::Output { .. } => Some("check that the directory exists, is writable and has free space"),
            Error::Exists { .. } => Some("choose another name, or replace the file with --force"),
            Error::NotEmpty { .. } => Some("nothing was written; import into a new file with --db-path"),
            Error::OtherExport { .. } => {
                Some("import it with the version of writ that wrote it, then upgrade")
            }
            Error::Transfer { .. } => Some("nothing was written; create the export again"),
            Error::Newer { .. } => Some("use the newer version of writ, or another file with --db-path"),
            Error::NetworkFileSystem { .. } => {
                Some("put the store on a local disk with --db-path or WRIT_DB")
            }
            Error::Directory { .. } | Error::File { .. } | Error::Open { .. } | Error::ReadOnly => {
                Some("check the permissions, or choose another file with --db-path or WRIT_DB")
            }
            Error::OlderReadOnly { .. } => Some(
                "copy the store and its key to a disk that can be written, and open the copy with --db-path",
            ),
            Error::Backup { .. } => {
                Some("writ copies an older store before it migrates it; free some space in its directory")
            }
            Error::Full => Some("free some disk space; nothing was lost and nothing was partly written"),
            Error::Unavailable(_) => {
                Some("check the disk that holds the store, then send the same request again")
            }
            Error::Key { .. } => Some(
                "the key must be a regular file of 32 bytes that only you can use: restore it, or set its owner and mode \
                 with chown and chmod 600",
            ),
            Error::NoKey { .. } => {
                Some("put the key back; if it is lost, a person makes a new one with `writ audit reseal`")
            }
            Error::Replaced { .. } => {
                Some("put the store's files back where they were, then send the same request again")
            }
            Error::OtherName { .. } => Some(
                "a store has one name: remove the other hard links, or move the file back to where its log is; a copy is \
                 made with `writ backup`",
            ),
            Error::Halted { .. } | Error::Outlived => Some(HALTED_HINT),
            Error::Busy => Some("send the same request again with the same request id"),
            Error::Corrupt(_) => Some(
                "run `writ audit verify` to see what is damaged; restore a backup, or get what is whole out of the store \
                 with `writ salvage STORE --into NEW`",
            ),
            Error::Secret(_) => Some(SECRET_HINT),
            Error::Sql(_) | Error::Unfit { .. } | Error::NotCanonical(_) | Error::NotVybe { .. } => None,
        }
    }

    /// The error for a file that does not look like a store. One with a key beside it was a store.
    pub(crate) fn not_a_store(path: &Path) -> Self {
        let key = crate::key::StoreKey::path_of(path);
        if std::fs::symlink_metadata(&key).is_ok() {
            return Error::Corrupt(format!("{} has the key of a store, but not its header", path.display()));
        }
        Error::Foreign { path: path.to_owned() }
    }
}

fn but_written(written: bool) -> &'static str {
    if written { "; the change is in the old file" } else { "" }
}

/// Empty if the fault is not in one line.
fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn at_line(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

/// How much of a value a message shows: enough to recognize it, never a whole document.
const SHOWN_CHARS_MAX: usize = 80;

/// The error for a column value that this version of writ cannot have written.
pub(crate) fn unreadable(what: &str, id: &str, value: &str) -> Error {
    let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    Error::Corrupt(format!("{what} of {id} is `{shown}{rest}`"))
}
