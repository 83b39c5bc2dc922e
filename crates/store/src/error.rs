//! What can go wrong with the store, named by what was attempted.

use std::path::PathBuf;

use contract::domain::code::ErrorCode;
use contract::json::canonical::NotCanonical;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not open the store at {}", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("could not make the store's directory {}", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("could not make the store's file {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{} belongs to another program", path.display())]
    Foreign { path: PathBuf },
    #[error("the store was written by a newer writ: its schema is {found}, this one knows {known}")]
    Newer { found: i64, known: i64 },
    #[error("{} is on a network file system ({name}), where the write-ahead log is not safe", path.display())]
    NetworkFileSystem { path: PathBuf, name: &'static str },
    #[error("the store stayed busy")]
    Busy,
    #[error("the disk that holds the store is full")]
    Full,
    #[error("the store cannot be written")]
    ReadOnly,
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    #[error("the store refused a statement")]
    Sql(#[source] rusqlite::Error),
    #[error("an event has no canonical form")]
    NotCanonical(#[from] NotCanonical),
}

impl Error {
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Open { source, .. } => match rusqlite_kind(source) {
                Some(rusqlite::ErrorCode::NotADatabase) => ErrorCode::ForeignStore,
                Some(rusqlite::ErrorCode::DatabaseBusy) => ErrorCode::Busy,
                Some(rusqlite::ErrorCode::DatabaseCorrupt) => ErrorCode::Corrupt,
                _ => ErrorCode::StoreUnavailable,
            },
            Error::Foreign { .. } => ErrorCode::ForeignStore,
            Error::Newer { .. } => ErrorCode::NewerStore,
            Error::Busy => ErrorCode::Busy,
            Error::Corrupt(_) => ErrorCode::Corrupt,
            Error::Directory { .. }
            | Error::File { .. }
            | Error::NetworkFileSystem { .. }
            | Error::Full
            | Error::ReadOnly => ErrorCode::StoreUnavailable,
            Error::Sql(_) => ErrorCode::Bug,
            Error::NotCanonical(_) => ErrorCode::InvalidInput,
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Foreign { .. } => Some(
                "choose another file with --db-path or WRIT_DB; writ never changes another program's database",
            ),
            Error::Newer { .. } => Some("use the newer writ, or another file with --db-path"),
            Error::NetworkFileSystem { .. } => {
                Some("put the store on a local disk with --db-path or WRIT_DB")
            }
            Error::Directory { .. } | Error::File { .. } | Error::Open { .. } | Error::ReadOnly => {
                Some("check the permissions, or choose another place with --db-path or WRIT_DB")
            }
            Error::Full => Some("free some space; nothing was lost and nothing was half written"),
            Error::Busy => Some("send the same request again with the same request id"),
            Error::Corrupt(_) => Some("`writ audit verify` says what is damaged"),
            Error::Sql(_) | Error::NotCanonical(_) => None,
        }
    }
}

fn rusqlite_kind(error: &rusqlite::Error) -> Option<rusqlite::ErrorCode> {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.code),
        _ => None,
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match rusqlite_kind(&error) {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Error::Busy,
            Some(rusqlite::ErrorCode::DiskFull) => Error::Full,
            Some(rusqlite::ErrorCode::ReadOnly) => Error::ReadOnly,
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Error::Corrupt(error.to_string())
            }
            _ => Error::Sql(error),
        }
    }
}

/// A column that holds what this version of writ cannot have written.
pub(crate) fn unreadable(what: &str, id: &str, value: &str) -> Error {
    Error::Corrupt(format!("{what} of {id} is `{value}`"))
}
