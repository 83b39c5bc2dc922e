//! Private directories that are made where the engine would only wait, so that the next task does not wait for them. They
//! are new, and only moved to their place: nothing of one task comes to another. And where the user's credentials are.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::paths;
use super::private::SOCKET;
use crate::inside::bind;
use crate::remove_tree::remove_tree;
use crate::supervisor::process_table;

/// Directories that are kept ready: those of a few tasks.
const READY_MAX: usize = 16;
/// For so long a look for the user's credentials counts. A task that runs is not asked about later ones either.
const LOOK_COUNTS: Duration = Duration::from_secs(1);
/// How their names begin.
const PREFIX: &str = "ready-";
/// The next number in such a name.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What is ready to be used, shared by all who have these settings.
#[derive(Debug, Clone, Default)]
pub struct Ready(Arc<Mutex<Stock>>);

#[derive(Debug, Default)]
struct Stock {
    directories: Vec<PathBuf>,
    /// With a socket in each.
    calls: Vec<(PathBuf, UnixListener)>,
    /// Sockets in their place, until they are asked for.
    bound: Vec<(PathBuf, UnixListener)>,
    /// What was needed since it was filled the last time.
    needed: Needed,
    looked: Option<Looked>,
    /// Nothing is made in advance any more.
    is_short: bool,
}

/// The credentials of a user, when they were looked for.
#[derive(Debug)]
struct Looked {
    at: Instant,
    home: PathBuf,
    found: Vec<(PathBuf, PathBuf)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Needed {
    directories: usize,
    calls: usize,
}

impl Ready {
    /// Makes a directory that only this user can enter, and those above it. One that is there is left as it is.
    pub(super) fn make(&self, directory: &Path) -> io::Result<()> {
        if directory.is_dir() {
            return Ok(());
        }
        match directory.parent() {
            Some(above) if !above.is_dir() && above.file_name().is_some() => self.make(above)?,
            Some(_) | None => {}
        }
        let mut stock = self.stock();
        stock.needed.directories += 1;
        match stock.directories.pop() {
            Some(ready) if std::fs::rename(&ready, directory).is_ok() => Ok(()),
            Some(_) | None => create(directory),
        }
    }

    /// The same for the directory of a socket, which is there already if it can be.
    pub(super) fn make_for_call(&self, directory: &Path) -> io::Result<()> {
        if let Some(above) = directory.parent() {
            self.make(above)?;
        }
        let mut stock = self.stock();
        stock.needed.calls += 1;
        let Some((ready, listener)) = stock.calls.pop() else { return create(directory) };
        if std::fs::rename(&ready, directory).is_err() {
            return create(directory);
        }
        stock.bound.push((directory.canonicalize()?.join(SOCKET), listener));
        Ok(())
    }

    /// The socket at this path, new or from before.
    pub(crate) fn bind(&self, socket: &Path) -> io::Result<UnixListener> {
        let mut stock = self.stock();
        if let Some(at) = stock.bound.iter().position(|(path, _)| path == socket) {
            return Ok(stock.bound.swap_remove(at).1);
        }
        // A process that was killed may have left one.
        std::fs::remove_file(socket).ok();
        bind(socket)
    }

    /// The credentials below this home, as [`paths::credentials`] gives them.
    pub(super) fn credentials(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut stock = self.stock();
        let counts = |looked: &&Looked| looked.home == home && looked.at.elapsed() < LOOK_COUNTS;
        if let Some(looked) = stock.looked.as_ref().filter(counts) {
            return looked.found.clone();
        }
        let found = paths::credentials(home);
        let (at, home) = (Instant::now(), home.to_owned());
        stock.looked = Some(Looked { at, home, found: found.clone() });
        found
    }

    /// Makes as many as were needed since the last time. Without room for them everything is made when it is needed.
    pub(crate) fn fill(&self, root: &Path) {
        let mut stock = self.stock();
        let needed = std::mem::take(&mut stock.needed);
        stock.bound.clear();
        if stock.is_short {
            return;
        }
        while stock.directories.len() < needed.directories.min(READY_MAX) {
            let Some(directory) = new_directory(root) else { return };
            stock.directories.push(directory);
        }
        while stock.calls.len() < needed.calls.min(READY_MAX) {
            let Some(directory) = new_directory(root) else { return };
            match bind(&directory.join(SOCKET)) {
                Ok(listener) => stock.calls.push((directory, listener)),
                Err(_) => return drop(std::fs::remove_dir(directory)),
            }
        }
    }

    /// The machine is short of something: gives back what is ready, and keeps nothing ready any more.
    pub(crate) fn make_room(&self, root: &Path) {
        if !self.stock().is_short {
            self.clear(root);
            self.stock().is_short = true;
        }
    }

    /// Removes what was made for nothing, here and by engines that were killed.
    pub(crate) fn clear(&self, root: &Path) {
        let mut stock = self.stock();
        let Stock { directories, calls, .. } = std::mem::take(&mut *stock);
        let calls = calls.into_iter().map(|(directory, _)| directory);
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        let left = entries.filter(|entry| is_left(&entry.file_name().to_string_lossy()));
        for directory in directories.into_iter().chain(calls).chain(left.map(|entry| entry.path())) {
            // What cannot be removed is in nobody's way.
            remove_tree(&directory).ok();
        }
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_directory(root: &Path) -> Option<PathBuf> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = root.join(format!("{PREFIX}{}-{number}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory).ok()?;
    Some(directory)
}

fn create(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Whether it was made ready by a process that is gone. An engine that misses one makes its own.
fn is_left(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let pid = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
    pid.is_none_or(|pid| process_table::read(pid).is_none())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::inside::connect;

    #[test]
    fn as_many_are_ready_as_were_needed_and_the_rest_is_removed() {
        let scratch = testkit::Scratch::new();
        let root = scratch.join("root");
        let ready = Ready::default();
        ready.make(&root.join("a/home")).unwrap();
        assert_eq!(scratch.names("root"), ["a"], "nothing is made before it is known to be needed");
        ready.fill(&root);
        assert_eq!(scratch.names("root").len(), 4, "the root, the task's directory and its home were needed");
        ready.make(&root.join("b/home")).unwrap();
        assert_eq!(scratch.names("root").len(), 3, "two of them were moved");
        let mode = std::fs::metadata(root.join("b/home")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::create_dir(root.join("ready-4194305-1")).unwrap();
        std::fs::create_dir(root.join("ready-1-1")).unwrap();
        ready.clear(&root);
        assert_eq!(scratch.names("root"), ["a", "b", "ready-1-1"], "that of a living process is its own");
        ready.make(&root.join("c/home")).unwrap();
        assert!(root.join("c/home").is_dir(), "what is missing is made");
        ready.fill(&root);
        ready.make_room(&root);
        ready.make(&root.join("d/home")).unwrap();
        ready.fill(&root);
        assert_eq!(
            scratch.names("root"),
            ["a", "b", "c", "d", "ready-1-1"],
            "nothing is kept where something is short"
        );
    }

    #[test]
    fn a_socket_that_was_ready_is_the_one_at_its_new_place() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let ready = Ready::default();
        for name in ["first", "second", "third"] {
            let directory = root.join(name).join("call");
            ready.make_for_call(&directory).unwrap();
            assert_eq!(directory.join(SOCKET).exists(), name != "first");
            let listener = ready.bind(&directory.join(SOCKET)).unwrap();
            let mut here = connect(&directory.join(SOCKET)).unwrap();
            here.write_all(b"x").unwrap();
            let mut byte = [0];
            listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
            ready.fill(&root);
        }
        // One that is asked for again is another one.
        let socket = root.join("third/call").join(SOCKET);
        let again = ready.bind(&socket).unwrap();
        connect(&socket).unwrap();
        again.accept().unwrap();
    }
}
