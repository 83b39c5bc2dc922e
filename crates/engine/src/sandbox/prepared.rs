//! Private directories that are made while the engine waits, so that the next task does not wait for them. They are new, and
//! each is used once: nothing of one task comes to another.
//!
//! ```text
//! ROOT/ready-PID-NUMBER/    locked by its process until that ends
//!   0/                      empty; moved to where it is needed
//!   1/writ                  a socket; used where it is
//! ```
//! A socket that was moved would still be listed by the kernel under its old path, and other sandboxes could not hide it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::private::SOCKET;
use crate::inside::bind;
use crate::remove_tree::remove_tree;

/// Directories that are kept ready: those of a few tasks.
const READY_MAX: usize = 16;
/// How the name of a process's place begins.
const PREFIX: &str = "ready-";
/// Names that are tried for a place. Killed processes with the same pid may have left some.
const NAMES_MAX: usize = 16;

/// What is ready to be used, shared by all who have these settings.
#[derive(Debug, Clone, Default)]
pub struct PreparedDirectories(Arc<Mutex<Stock>>);

#[derive(Debug, Default)]
struct Stock {
    place: Option<Place>,
    directories: Vec<PathBuf>,
    /// With a socket in each.
    calls: Vec<(PathBuf, UnixListener)>,
    lent: Vec<Lent>,
    /// What was needed since it was filled the last time.
    needed: Needed,
    /// Nothing is made in advance any more.
    is_short: bool,
}

/// A directory with a socket that a child uses.
#[derive(Debug)]
struct Lent {
    /// In place of this one.
    wanted: PathBuf,
    directory: PathBuf,
    /// Until it is asked for.
    listener: Option<UnixListener>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Needed {
    directories: usize,
    calls: usize,
}

/// Where this process makes them.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    next: u64,
    _lock: File,
}

impl PreparedDirectories {
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
        if let Some(ready) = stock.directories.pop() {
            if std::fs::rename(&ready, directory).is_ok() {
                return Ok(());
            }
            // Of no more use, and nothing is in it.
            std::fs::remove_dir(&ready).ok();
        }
        create(directory)
    }

    /// A directory for a socket: this one, or one that has its socket already. Returns its real path.
    pub(super) fn make_for_call(&self, wanted: &Path) -> io::Result<PathBuf> {
        let mut stock = self.stock();
        stock.needed.calls += 1;
        if let Some((directory, listener)) = stock.calls.pop() {
            let lent =
                Lent { wanted: wanted.to_owned(), directory: directory.clone(), listener: Some(listener) };
            stock.lent.push(lent);
            return Ok(directory);
        }
        drop(stock);
        if let Some(above) = wanted.parent() {
            self.make(above)?;
        }
        create(wanted)?;
        wanted.canonicalize()
    }

    /// The socket at this path, new or from before.
    pub(crate) fn bind(&self, socket: &Path) -> io::Result<UnixListener> {
        let mut stock = self.stock();
        let lent = stock.lent.iter_mut().find(|lent| Some(lent.directory.as_path()) == socket.parent());
        if let Some(listener) = lent.and_then(|lent| lent.listener.take()) {
            return Ok(listener);
        }
        // One that was bound before, by us or by a process that was killed.
        std::fs::remove_file(socket).ok();
        bind(socket)
    }

    /// Removes what was used in place of this directory, or of one below it.
    pub(super) fn take_back(&self, wanted: &Path) {
        let stock = &mut *self.stock();
        for lent in stock.lent.extract_if(.., |lent| lent.wanted.starts_with(wanted)) {
            remove_call(&lent.directory);
        }
    }

    /// Whether something was needed since it was filled the last time.
    pub(crate) fn was_used(&self) -> bool {
        let needed = self.stock().needed;
        needed.directories + needed.calls > 0
    }

    /// Makes as many as were needed since the last time. Without room for them everything is made when it is needed.
    pub(crate) fn fill(&self, root: &Path) {
        let stock = &mut *self.stock();
        let needed = std::mem::take(&mut stock.needed);
        if stock.is_short {
            return;
        }
        if stock.place.is_none() {
            stock.place = Place::hold(root);
        }
        let Some(place) = &mut stock.place else { return };
        while stock.directories.len() < needed.directories.min(READY_MAX) {
            let Some(directory) = place.new_directory() else { return };
            stock.directories.push(directory);
        }
        while stock.calls.len() < needed.calls.min(READY_MAX) {
            let Some(directory) = place.new_directory() else { return };
            match bind(&directory.join(SOCKET)) {
                Ok(listener) => stock.calls.push((directory, listener)),
                Err(_) => return remove_call(&directory),
            }
        }
    }

    /// The machine is short of something: gives back what is ready, and keeps nothing ready any more.
    pub(crate) fn make_room(&self) {
        let stock = &mut *self.stock();
        stock.is_short = true;
        stock.empty();
    }

    /// Removes what was made for nothing, here and by processes that were killed.
    pub(crate) fn clear(&self, root: &Path) {
        let stock = &mut *self.stock();
        stock.empty();
        if stock.lent.is_empty()
            && let Some(place) = stock.place.take()
        {
            std::fs::remove_dir(&place.path).ok();
        }
        for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX)
                && let Ok(Some(_lock)) = locked(&entry.path())
            {
                // What cannot be removed is in nobody's way.
                remove_tree(&entry.path()).ok();
            }
        }
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stock {
    fn empty(&mut self) {
        let mut calls = Vec::new();
        for (directory, listener) in std::mem::take(&mut self.calls) {
            // Its descriptor first: without one, nothing could be removed.
            drop(listener);
            calls.push(directory);
        }
        calls.iter().for_each(|directory| remove_call(directory));
        for directory in std::mem::take(&mut self.directories) {
            std::fs::remove_dir(directory).ok();
        }
    }
}

impl Place {
    /// `None` if there is no room for one.
    fn hold(root: &Path) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        for number in 0..NAMES_MAX {
            let path = root.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path).and_then(|()| locked(&path)) {
                Ok(Some(lock)) => return Some(Self { path, next: 0, _lock: lock }),
                // Another process took it for a leftover before it was locked.
                Ok(None) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
                Err(_) => return None,
            }
        }
        None
    }

    fn new_directory(&mut self) -> Option<PathBuf> {
        let directory = self.path.join(self.next.to_string());
        self.next += 1;
        std::fs::DirBuilder::new().mode(0o700).create(&directory).ok()?;
        Some(directory)
    }
}

/// Locks a place, if nobody else has. A lock ends with its process, whatever becomes of that.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let directory = File::open(path)?;
    if flock(&directory, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    // It may have been removed meanwhile.
    let (found, still) = (directory.metadata()?, std::fs::symlink_metadata(path)?);
    Ok(((found.dev(), found.ino()) == (still.dev(), still.ino())).then_some(directory))
}

/// There is nothing in it but its socket.
fn remove_call(directory: &Path) {
    std::fs::remove_file(directory.join(SOCKET)).ok();
    std::fs::remove_dir(directory).ok();
}

fn create(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use testkit::Scratch;

    use super::*;
    use crate::inside::connect;

    /// What is ready in the root, and everything else there.
    fn seen(scratch: &Scratch) -> (usize, Vec<String>) {
        let (places, others): (Vec<String>, Vec<String>) =
            scratch.names("root").into_iter().partition(|name| name.starts_with(PREFIX));
        let ready = places.iter().map(|place| scratch.names(format!("root/{place}")).len());
        (ready.sum(), others)
    }

    #[test]
    fn as_many_are_ready_as_were_needed_and_the_rest_is_removed() {
        let scratch = Scratch::new();
        let root = scratch.join("root");
        let prepared = PreparedDirectories::default();
        prepared.make(&root.join("a/home")).unwrap();
        assert_eq!(
            seen(&scratch),
            (0, vec!["a".to_owned()]),
            "nothing is made before it is known to be needed"
        );
        prepared.fill(&root);
        assert_eq!(seen(&scratch).0, 3, "the root, the task's directory and its home were needed");
        prepared.make(&root.join("b/home")).unwrap();
        assert_eq!(seen(&scratch).0, 1, "two of them were moved");
        let mode = std::fs::metadata(root.join("b/home")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        prepared.clear(&root);
        assert_eq!(scratch.names("root"), ["a", "b"]);
        prepared.make(&root.join("c/home")).unwrap();
        assert!(root.join("c/home").is_dir(), "what is missing is made");
        prepared.fill(&root);
        prepared.make_room();
        prepared.make(&root.join("d/home")).unwrap();
        prepared.fill(&root);
        assert_eq!(seen(&scratch).0, 0, "nothing is kept where something is short");
        prepared.clear(&root);
        prepared.make(&root.join("e/home")).unwrap();
        prepared.fill(&root);
        assert_eq!(scratch.names("root"), ["a", "b", "c", "d", "e"], "nor later");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not() {
        let scratch = Scratch::new();
        let root = scratch.join("root");
        let [one, other] = [(), ()].map(|()| PreparedDirectories::default());
        for prepared in [&one, &other] {
            prepared.make(&root.join("task")).unwrap();
            prepared.make_for_call(&root.join("task/call")).unwrap();
            prepared.fill(&root);
        }
        std::fs::create_dir_all(root.join(format!("ready-{}-9/0", std::process::id()))).unwrap();
        assert_eq!(scratch.names("root").len(), 4);
        one.clear(&root);
        let left = scratch.names("root");
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(!scratch.names(format!("root/{}", left[0])).is_empty(), "the other one's: {left:?}");
    }

    #[test]
    fn a_socket_that_was_ready_is_bound_where_it_is() {
        let scratch = Scratch::new();
        let root = scratch.path().canonicalize().unwrap();
        let prepared = PreparedDirectories::default();
        for name in ["first", "second", "third"] {
            let wanted = root.join(name).join("call");
            let directory = prepared.make_for_call(&wanted).unwrap();
            assert_eq!(directory == wanted, name == "first");
            let socket = directory.join(SOCKET);
            let listener = prepared.bind(&socket).unwrap();
            assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(socket.as_path()));
            let mut here = connect(&socket).unwrap();
            here.write_all(b"x").unwrap();
            let mut byte = [0];
            listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
            prepared.fill(&root);
            // One that is asked for again is another one.
            let again = prepared.bind(&socket).unwrap();
            connect(&socket).unwrap();
            again.accept().unwrap();
            prepared.take_back(&root.join(name));
            assert_eq!(directory.exists(), name == "first", "it goes with its task");
        }
    }
}
