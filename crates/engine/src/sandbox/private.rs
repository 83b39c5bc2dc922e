//! Private directories of tasks and checks, and their end.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::SandboxSettings;
use crate::inside::bind;
use crate::remove_tree::remove_tree;

/// So much of an id names a directory. The path of a socket in one of them must fit into 108 bytes.
const TASK_NAME_LENGTH: usize = 12;
const ATTEMPT_NAME_LENGTH: usize = 6;
const HOME: &str = "home";
/// The name of a socket in its directory.
pub(super) const SOCKET: &str = "writ";

/// The home and the temporary files of one child.
#[derive(Debug, Clone)]
pub struct Private {
    pub home: PathBuf,
    pub temporary: PathBuf,
    /// Where it can call writ, if it can.
    pub socket: Option<PathBuf>,
}

impl Private {
    /// Makes the directories where they are missing. Returns their real paths.
    pub(super) fn make(&self) -> Result<Self, String> {
        Ok(Self { home: make(&self.home)?, temporary: make(&self.temporary)?, socket: None })
    }

    /// Makes a directory for the socket. Returns the socket's real path.
    pub(super) fn make_for_socket(&self) -> Result<Option<PathBuf>, String> {
        let directory = self.socket.as_deref().and_then(Path::parent);
        Ok(directory.map(make).transpose()?.map(|made| made.join(SOCKET)))
    }

    /// The same with a socket. It is in a directory of its own, which the child cannot write to.
    #[must_use]
    pub fn with_socket(self) -> Self {
        let name = self.temporary.file_name().unwrap_or_default().to_string_lossy().replace("tmp", "call");
        Self { socket: Some(self.temporary.with_file_name(name).join(SOCKET)), ..self }
    }
}

/// Makes a directory that only this user can enter, and those above it. Returns its real path.
pub(super) fn make(directory: &Path) -> Result<PathBuf, String> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    let real = made.and_then(|()| directory.canonicalize());
    real.map_err(|error| format!("{}: {error}", directory.display()))
}

/// Binds a socket in its directory, also where one was bound before, by us or by a process that was killed.
pub(crate) fn bind_anew(socket: &Path) -> io::Result<UnixListener> {
    std::fs::remove_file(socket).ok();
    bind(socket)
}

impl SandboxSettings {
    /// Those of one attempt: its task's home, and a directory of its own for temporary files.
    pub fn private_of_attempt(&self, task: &str, attempt: &str) -> Private {
        let directory = self.root.join(end_of(task, TASK_NAME_LENGTH));
        let temporary = format!("tmp-{}", end_of(attempt, ATTEMPT_NAME_LENGTH));
        Private { home: directory.join(HOME), temporary: directory.join(temporary), socket: None }
    }

    /// Those of the checks of a task, where no task could write.
    pub fn private_of_checks(&self, task: &str) -> Private {
        let directory = self.root.join(end_of(task, TASK_NAME_LENGTH)).join("checks");
        Private { home: directory.join(HOME), temporary: directory.join("tmp"), socket: None }
    }

    /// Removes what an earlier check left in its directories: it ran what the task had written.
    pub(crate) fn forget_checks(&self, task: &str) {
        let home = self.private_of_checks(task).home;
        home.parent().into_iter().for_each(|place| self.remove(place));
    }

    /// Removes all private directories of a task that will not run again.
    pub fn forget(&self, task: &str) {
        let directory = self.root.join(end_of(task, TASK_NAME_LENGTH));
        // Mostly there is only this, and nothing in it.
        self.remove(&directory.join(HOME));
        self.remove(&directory);
    }

    /// Removes what killed engines left of these tasks, which have ended.
    pub fn forget_left<'t>(&self, ended: impl IntoIterator<Item = &'t str>) {
        let left = self.names();
        // Mostly there is nothing.
        if !left.is_empty() {
            let is_left = |task: &&str| left.iter().any(|name| name == end_of(task, TASK_NAME_LENGTH));
            ended.into_iter().filter(is_left).for_each(|task| self.forget(task));
        }
    }

    /// The names of the private directories that there are: each the end of an id.
    pub fn names(&self) -> Vec<String> {
        let entries = self.root.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.len() == TASK_NAME_LENGTH).collect()
    }

    /// Removes the temporary files of an attempt that has ended.
    pub fn forget_attempt(&self, task: &str, attempt: &str) {
        let private = self.private_of_attempt(task, attempt).with_socket();
        self.remove(&private.temporary);
        private.socket.as_deref().and_then(Path::parent).into_iter().for_each(|place| self.remove(place));
    }

    /// Leftovers are harmless.
    fn remove(&self, tree: &Path) {
        if !self.root.as_os_str().is_empty() {
            remove_tree(tree).ok();
        }
    }
}

/// The last characters of an id are the random ones.
fn end_of(id: &str, length: usize) -> &str {
    id.char_indices().rev().nth(length - 1).map_or(id, |(start, _)| &id[start..])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_is_removed_however_deep_and_closed_it_is_and_links_are_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let outside = scratch.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "").unwrap();
        let settings = SandboxSettings { root: scratch.path().join("root"), ..SandboxSettings::default() };
        let private = settings.private_of_attempt("task_1", "attempt_1").make().unwrap();
        symlink(&outside, private.home.join("link")).unwrap();
        let closed = private.home.join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::write(closed.join("file"), "").unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        // Deeper than a path can be long: each round puts the tree so far into a new directory.
        let deep = private.home.join("deep");
        std::fs::create_dir(&deep).unwrap();
        for _ in 0..3_000 {
            let above = private.home.join("above");
            std::fs::create_dir(&above).unwrap();
            std::fs::rename(&deep, above.join("d")).unwrap();
            std::fs::rename(&above, &deep).unwrap();
        }
        settings.forget("task_1");
        assert_eq!(std::fs::read_dir(&settings.root).unwrap().count(), 0);
        assert!(outside.join("file").exists());
    }

    #[test]
    fn names_are_short_and_those_of_one_task_differ() {
        let settings = SandboxSettings { root: "/r".into(), ..SandboxSettings::default() };
        let [one, two] = ["attempt_0000000001", "attempt_0000000002"]
            .map(|id| settings.private_of_attempt("task_01m7kwxjfcem68hnvfpawnkjg9", id));
        assert_eq!(one.home, PathBuf::from("/r/hnvfpawnkjg9/home"));
        assert_eq!(one.home, two.home);
        assert_ne!(one.temporary, two.temporary);
        assert!(
            !settings
                .private_of_checks("task_1")
                .home
                .starts_with(&settings.private_of_attempt("task_1", "a").home)
        );
    }
}
