//! The way for the program of a sandboxed task to call writ: a socket of its own, which the engine keeps open while it runs.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use contract::domain::attempt::AttemptId;
use contract::domain::confinement::Ceiling;
use contract::domain::network::HostRule;
use ops::inside::InsideTask;
use rustix::fs::{Mode, OFlags};

use crate::sandbox::{ConfinedChild, SandboxRequest};

/// In the environment of a sandboxed task: its socket.
pub const SOCKET_VARIABLE: &str = "WRIT_SOCKET";
/// The longest path that the address of a socket has room for.
const ADDRESS_BYTES_MAX: usize = 107;

/// Who calls from inside a sandbox, and what it can pass on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideCaller {
    pub task: InsideTask,
    /// `None` where no run works on the task: its program closes it itself.
    pub attempt: Option<AttemptId>,
    pub ceiling: Ceiling,
    /// Credentials of the user that it may read.
    pub credentials: Vec<PathBuf>,
    /// Where its model is, which it reaches although the network is not open to it.
    pub endpoints: Vec<HostRule>,
}

impl InsideCaller {
    /// What a confined program can pass on is what it has itself.
    pub(crate) fn of(
        task: InsideTask,
        attempt: Option<AttemptId>,
        wanted: &SandboxRequest<'_>,
        confined: &ConfinedChild,
    ) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            task,
            attempt,
            ceiling: Ceiling {
                workspace: text(&confined.workspace),
                writes: confined.scopes.as_ref().map(|scopes| scopes.iter().map(|path| text(path)).collect()),
                mode: wanted.mode,
                network: wanted.network,
                network_allow: wanted.network_allow.to_vec(),
                git: wanted.git,
            },
            credentials: confined.credentials.clone(),
            endpoints: confined.sandbox.reachable.endpoints.clone(),
        }
    }
}

/// Answers calls from inside sandboxes.
pub trait TaskDoors: Send + Sync {
    /// Answers on this socket until the door is dropped. Dropping it ends what was called and waits for that.
    fn open(&self, listener: UnixListener, caller: InsideCaller) -> io::Result<Box<dyn TaskDoor>>;
}

/// An open way for one task.
pub trait TaskDoor {}

/// Binds a socket to a path of any length.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    through_directory(path, |short| UnixListener::bind(short))
}

/// Connects to a socket at a path of any length.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    through_directory(path, |short| UnixStream::connect(short))
}

/// The address of a socket has room for a short path only; a longer one is named through its directory.
fn through_directory<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return act(path);
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(directory, flags, Mode::empty())?;
    act(&Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_socket_is_reached_at_a_path_of_any_length() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("d".repeat(90)).join("e".repeat(90));
        std::fs::create_dir_all(&deep).unwrap();
        for path in [scratch.path().join("s"), deep.join("s")] {
            let listener = bind(&path).unwrap();
            let mut here = connect(&path).unwrap();
            here.write_all(b"x").unwrap();
            let mut byte = [0];
            listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x", "{}", path.display());
        }
    }
}
