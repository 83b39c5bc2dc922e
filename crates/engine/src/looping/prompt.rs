//! The prompt of an agent in a loop.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use super::call::Asked;

/// Behind the context: the agent works alone.
const ALONE: &str = "\n\n== UNATTENDED ==\n\
    You were started by a loop and work alone: nobody can answer questions.\n\
    - Work on the task above and on nothing else.\n\
    - When it is finished, close it with the DONE command above.\n\
    - When you cannot finish it, close it with the STUCK command above and say why.\n\
    - If the task is still open when you end, its checks decide: it is done if they pass, and blocked if they fail \
    or there are none.\n";

/// The context of a task, the leftovers of the last attempt, and a notice that questions have no answer.
pub(super) fn text(context: &str, failed: Option<&str>) -> String {
    let last =
        failed.map(|failed| format!("\n\n== THE LAST ATTEMPT FAILED ==\n{failed}\n")).unwrap_or_default();
    format!("{context}{last}{ALONE}")
}

/// A file that only the user can read and that goes away with the value.
pub(super) struct PromptFile {
    path: PathBuf,
}

impl PromptFile {
    pub(super) fn write(directory: &Path, asked: &Asked<'_>) -> Result<Self> {
        let path = directory.join(format!("writ-loop-{}.md", asked.attempt));
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::Io, format!("could not write {}: {error}", path.display()))
        };
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let prompt = Self { path: path.clone() };
        file.write_all(asked.context.as_bytes()).map_err(failed)?;
        Ok(prompt)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PromptFile {
    fn drop(&mut self) {
        // The agent may have moved it; either way it no longer belongs to writ.
        std::fs::remove_file(&self.path).ok();
    }
}
