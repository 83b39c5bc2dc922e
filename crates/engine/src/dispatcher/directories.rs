//! Directories that a plan promises to a task.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use contract::domain::scope::Scope;

/// Makes the directories that are missing, step by step, and follows no link. The error names what is in the way.
pub(super) fn make(workspace: &Path, directories: &[Scope]) -> Result<(), String> {
    for scope in directories {
        let mut path = if scope.is_absolute() { PathBuf::from("/") } else { workspace.to_owned() };
        for step in scope.as_str().split('/').filter(|step| !step.is_empty() && *step != ".") {
            path.push(step);
            let made = match std::fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                made => made,
            };
            made.map_err(|error| format!("could not make `{}/`: {error}", scope.as_str()))?;
            if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(format!(
                    "`{}/` is no directory: {} is in the way",
                    scope.as_str(),
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_and_no_link_is_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let [workspace, outside] = ["workspace", "outside"].map(|name| scratch.path().join(name));
        for directory in [&workspace, &outside] {
            std::fs::create_dir(directory).unwrap();
        }
        std::os::unix::fs::symlink(&outside, workspace.join("link")).unwrap();
        let scope = |text: &str| Scope::parse(text, None).unwrap();
        assert_eq!(make(&workspace, &[scope("a/b"), scope("a")]), Ok(()));
        assert!(workspace.join("a/b").is_dir());
        assert!(make(&workspace, &[scope("link/x")]).unwrap_err().contains("in the way"));
        assert!(!outside.join("x").exists());
    }
}
