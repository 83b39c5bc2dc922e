//! The project a command acts on: the one it names, or the one it was called in.

use std::path::Path;
use std::sync::OnceLock;

use contract::domain::workspace;

use crate::env;
use crate::host;
use crate::persona::{self, Persona};

/// The project of the directory: the nearest one upward with a `.writ` directory or with `.git`.
pub(crate) fn root_of(directory: &str) -> Option<String> {
    workspace::project_of(directory, |place| {
        let place = Path::new(place);
        place.join(".writ").is_dir() || place.join(".git").exists()
    })
}

/// The project this command was called in. The agent contract's own name knows no such default.
pub(crate) fn here() -> Option<String> {
    static HERE: OnceLock<Option<String>> = OnceLock::new();
    match persona::current() {
        Persona::Writ | Persona::Ol | Persona::Ao => HERE.get_or_init(called_in).clone(),
        Persona::Vybe => None,
    }
}

fn called_in() -> Option<String> {
    let here = host::absolute(".".into());
    root_of(&workspace_of_clone(&here).unwrap_or_else(|| here.to_string_lossy().into_owned()))
}

/// The workspace of the clone that this directory is in, where an engine started the caller in one.
fn workspace_of_clone(directory: &Path) -> Option<String> {
    env::get("WRIT_WORKTREE").filter(|clone| directory.starts_with(clone)).and(env::get("WRIT_WORKSPACE"))
}

/// The project that a flag names; without the flag, the one this command was called in.
pub(crate) fn named_or_here(flag: Option<&str>) -> Option<String> {
    flag.map(host::workspace).or_else(here)
}
