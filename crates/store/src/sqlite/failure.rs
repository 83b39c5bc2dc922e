//! What an error of SQLite means for the store.

use std::path::Path;

use rusqlite::ErrorCode as Kind;

use crate::error::Error;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let Some(failure) = error.sqlite_error() else { return Self::from_conversion(error) };
        match failure.code {
            Kind::DatabaseBusy | Kind::DatabaseLocked | Kind::FileLockingProtocolFailed => Error::Busy,
            Kind::DiskFull => Error::Full,
            // The shared-memory index of the write-ahead log could not grow.
            Kind::SystemIoFailure if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
                Error::Full
            }
            Kind::ReadOnly => Error::ReadOnly,
            Kind::DatabaseCorrupt | Kind::NotADatabase => Error::Corrupt(error.to_string()),
            Kind::CannotOpen
            | Kind::SystemIoFailure
            | Kind::PermissionDenied
            | Kind::OutOfMemory
            | Kind::NoLargeFileSupport => Error::Unavailable(error),
            // The full-text index reports damage to its own tables as a general error.
            Kind::Unknown if error.to_string().contains("fts5") => Error::Corrupt(error.to_string()),
            _ => Error::Sql(error),
        }
    }
}

impl Error {
    /// The error for a statement that cannot be prepared. All statements fit the schema of a store, so the schema is
    /// damaged.
    pub(crate) fn preparing(source: rusqlite::Error) -> Self {
        let message = match &source {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        match Error::from(source) {
            Error::Sql(_) => Error::Corrupt(message),
            named => named,
        }
    }

    /// The error for a failure to open the file at `path`.
    pub(crate) fn opening(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(Kind::NotADatabase) => Error::not_a_store(&path),
            Some(Kind::ReadOnly) => Error::Open { path, source },
            _ => match Error::from(source) {
                Error::Sql(source) | Error::Unavailable(source) => Error::Open { path, source },
                named => named,
            },
        }
    }

    /// A value whose type writ never stores was written by another program.
    fn from_conversion(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => Error::Corrupt(error.to_string()),
            other => Error::Sql(other),
        }
    }
}

/// Whether a row does not fit a constraint of its table.
pub(crate) fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(Kind::ConstraintViolation)
}
