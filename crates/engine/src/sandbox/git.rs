//! The workspace's own repository: read-only, or open for commits and nothing that git would run or obey.

use std::path::{Path, PathBuf};

use contract::domain::confinement::GitUse;

use crate::supervisor::Sandbox;

/// In `.git`, what decides which programs git runs. Made where it is missing, because it could be made from inside.
const DIRECTORIES: &[&str] = &["hooks", "modules", "worktrees"];
const CONFIG: &str = "config";
/// Used only with the matching configuration.
const CONFIG_OF_WORKTREE: &str = "config.worktree";
const WORKTREE_EXTENSION: &str = "worktreeconfig";

/// Adds what the task may do with `.git` to its sandbox.
pub(super) fn protect(
    workspace: &Path,
    allowed: GitUse,
    sandbox: &mut Sandbox,
    writes: &mut Vec<PathBuf>,
) -> Result<(), String> {
    let repository = workspace.join(".git");
    let Ok(found) = std::fs::symlink_metadata(&repository) else { return Ok(()) };
    match allowed {
        // A link itself cannot be kept from being replaced; where it leads nothing can be written.
        GitUse::Read => {
            let real = repository.canonicalize().unwrap_or(repository);
            if !sandbox.read_only.iter().any(|held| real.starts_with(held)) {
                sandbox.read_only.push(real.into_os_string());
            }
        }
        GitUse::Commit if found.is_dir() => {
            let named = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
            for directory in DIRECTORIES.iter().map(|name| repository.join(name)) {
                std::fs::create_dir_all(&directory).map_err(|error| named(&directory, error))?;
                sandbox.read_only.push(directory.into_os_string());
            }
            let redirection = workspace.join(REDIRECTION);
            if !redirection.exists() {
                std::fs::write(&redirection, TO_ITSELF).map_err(|error| named(&redirection, error))?;
            }
            sandbox.read_only.push(redirection.into_os_string());
            for file in configurations(&repository) {
                let made = std::fs::OpenOptions::new().create(true).append(true).open(&file);
                made.map_err(|error| named(&file, error))?;
                sandbox.read_only.push(file.into_os_string());
            }
            sandbox.read_only.retain(|held| *held != *repository.as_os_str());
            sandbox.pinned.push(repository.clone().into_os_string());
            writes.push(repository);
        }
        GitUse::Commit => return Err(NOT_A_DIRECTORY.to_owned()),
    }
    Ok(())
}

const NOT_A_DIRECTORY: &str = "`.git` is not a directory, so commits in a sandbox are not supported here";

/// Why the task cannot be given what it may do with `.git`.
pub(super) fn refusal(workspace: &Path, allowed: GitUse) -> Option<String> {
    let found = std::fs::symlink_metadata(workspace.join(".git"));
    let is_other = found.is_ok_and(|found| !found.is_dir());
    match allowed {
        GitUse::Read => None,
        GitUse::Commit if is_other => Some(NOT_A_DIRECTORY.to_owned()),
        GitUse::Commit if is_redirected(workspace) => {
            Some(format!("`{REDIRECTION}` makes git take its configuration from elsewhere; remove it"))
        }
        GitUse::Commit => None,
    }
}

/// The files that git obeys in this repository, or would obey if they were there.
fn configurations(repository: &Path) -> Vec<PathBuf> {
    let (config, of_worktree) = (repository.join(CONFIG), repository.join(CONFIG_OF_WORKTREE));
    let said = std::fs::read(&config).unwrap_or_default().to_ascii_lowercase();
    let is_obeyed = String::from_utf8_lossy(&said).contains(WORKTREE_EXTENSION);
    let of_worktree = (is_obeyed || of_worktree.exists()).then_some(of_worktree);
    [config].into_iter().chain(of_worktree).collect()
}

/// What makes git take its configuration and hooks from the directory that it names.
const REDIRECTION: &str = ".git/commondir";
/// It names the repository itself. Such a file changes nothing, and a sandbox cannot replace it.
const TO_ITSELF: &[u8] = b".\n";

/// Whether git takes its configuration from elsewhere.
fn is_redirected(workspace: &Path) -> bool {
    std::fs::read(workspace.join(REDIRECTION)).is_ok_and(|found| found != TO_ITSELF)
}

/// Removes what [`protect`] left for a task that may commit. True if the task could put something else in its place,
/// as it can where the system has no mounts for it.
pub(crate) fn leave(workspace: &Path) -> bool {
    let was_redirected = is_redirected(workspace);
    std::fs::remove_file(workspace.join(REDIRECTION)).ok();
    was_redirected
}
