//! Where the settings of agent programs are, and where we remember how to undo an installation.

use std::path::{Path, PathBuf};

use contract::digest;
use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use crate::env;

/// Whose settings: the user's, or those of the project in the current directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

impl Scope {
    pub(crate) const ALL: [Scope; 2] = [Scope::User, Scope::Project];
}

/// The undo record of an installation. `None` without a data directory.
pub(crate) fn record(settings: &Path) -> Option<PathBuf> {
    let digest = digest::of_bytes(settings.as_os_str().as_encoded_bytes());
    let name = digest.trim_start_matches("sha256:").get(..16)?;
    Some(env::data_home()?.join("hooks").join(format!("{name}.json")))
}

pub(crate) fn home() -> Result<PathBuf> {
    env::directory("HOME").ok_or_else(|| {
        Error::new(ErrorCode::Io, "HOME is not set, so the user's settings cannot be found")
            .hint("use --project, or set the agent's own configuration directory")
    })
}
