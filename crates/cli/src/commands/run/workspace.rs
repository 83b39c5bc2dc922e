//! Where a document's tasks work.

use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use ops::{Error, Result};

/// The workspace as an absolute name without links, also while its last parts are not there yet: the same place
/// under another name is the same workspace.
pub(super) fn workspace_name(path: &Path) -> Result<String> {
    let known = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let name = match known {
        Some((part, real)) => path.strip_prefix(part).map_or(real.clone(), |rest| real.join(rest)),
        None => path.to_owned(),
    };
    // Joining nothing leaves a separator at the end.
    let name: PathBuf = name.components().collect();
    name.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("the workspace {} is not UTF-8", name.display()))
    })
}

/// A plan's workspace is made where it is missing; other documents name one that must be there, and L0 looks.
pub(crate) fn make_workspace(path: &str) -> Result<()> {
    std::fs::create_dir_all(path)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not make the workspace {path}: {error}")))
}
