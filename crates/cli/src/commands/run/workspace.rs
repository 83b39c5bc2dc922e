//! Where a document's tasks work.

use contract::domain::code::ErrorCode;
use ops::{Error, Result};

/// Makes a plan's workspace where it is missing.
pub(crate) fn make_workspace(path: &str) -> Result<()> {
    std::fs::create_dir_all(path)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not make the workspace {path}: {error}")))
}
