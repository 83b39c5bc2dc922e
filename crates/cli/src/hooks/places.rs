//! Where agent programs keep what concerns us, and where we keep what leads back.

use std::path::{Path, PathBuf};

use contract::digest;
use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use crate::{env, host};

/// Whose settings: the user's, or those of the project in the current directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

pub(crate) fn claude_settings(scope: Scope) -> Result<PathBuf> {
    let directory = match scope {
        Scope::Project => host::absolute(".claude".into()),
        Scope::User => match env::directory("CLAUDE_CONFIG_DIR") {
            Some(directory) => directory,
            None => home()?.join(".claude"),
        },
    };
    Ok(directory.join("settings.json"))
}

pub(crate) fn opencode_plugin(scope: Scope) -> Result<PathBuf> {
    let directory = match scope {
        Scope::Project => host::absolute(".opencode".into()),
        Scope::User => match (env::directory("OPENCODE_CONFIG_DIR"), env::directory("XDG_CONFIG_HOME")) {
            (Some(directory), _) => directory,
            (None, Some(config)) => config.join("opencode"),
            (None, None) => home()?.join(".config/opencode"),
        },
    };
    Ok(directory.join("plugin/writ.js"))
}

/// The file that says how to take an installation back; nowhere where there is no data directory.
pub(crate) fn record(settings: &Path) -> Option<PathBuf> {
    let digest = digest::of_bytes(settings.as_os_str().as_encoded_bytes());
    let name = digest.trim_start_matches("sha256:").get(..16)?;
    Some(env::data_home()?.join("hooks").join(format!("{name}.json")))
}

fn home() -> Result<PathBuf> {
    env::directory("HOME").ok_or_else(|| {
        Error::new(ErrorCode::Io, "HOME is not set, so there is no place for the user's settings")
            .hint("use --project, or set the agent's own configuration directory")
    })
}
