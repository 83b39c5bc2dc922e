//! Devices that nobody inside may open: who can read a disk reads every file on it, and who can read a terminal or a keyboard
//! reads what others type.

use std::fs::{DirEntry, FileType};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

pub(super) const DIRECTORY: &str = "/dev";
/// Volumes have directories of their own there, and not more below.
const DEPTH_MAX: usize = 3;
/// Keyboards and pointers.
const INPUT: &str = "/dev/input";
/// The machine's memory and ports.
const MEMORY: [&str; 3] = ["mem", "kmem", "port"];
/// Terminals of the machine, each with a number behind its name or none. The one of the process itself is `tty`.
const TERMINALS: [&str; 6] = ["ttyS", "tty", "vcsa", "vcsu", "vcs", "hvc"];
const CONSOLE: &str = "console";
const OWN_TERMINAL: &str = "tty";

/// What this process could open in `/dev`.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// What is to be hidden: nothing for most users, dozens of terminals for root.
    pub(super) hidden: Vec<PathBuf>,
    /// The other devices, and directories with such devices.
    pub(super) others: Vec<PathBuf>,
}

impl Devices {
    /// What is there, from one listing.
    pub(super) fn look() -> Self {
        let mut devices = Self::default();
        let Ok(top) = std::fs::metadata(DIRECTORY) else { return devices };
        for (path, kind) in entries(Path::new(DIRECTORY)) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if kind.is_dir() {
                // What is mounted there has rules of its own: terminals, shared memory.
                let is_own = std::fs::metadata(&path).is_ok_and(|found| found.dev() == top.dev());
                if is_own {
                    devices.add_directory(path);
                }
            } else if is_hidden(name, kind) {
                devices.hidden.extend(can_be_opened(&path).then_some(path));
            } else if kind.is_char_device() && can_be_opened(&path) {
                devices.others.push(path);
            }
        }
        devices
    }

    fn add_directory(&mut self, directory: PathBuf) {
        let mut found = Vec::new();
        collect(&directory, DEPTH_MAX - 1, &mut found);
        if directory == Path::new(INPUT) {
            let is_open = found.iter().any(|(path, _)| can_be_opened(path));
            return self.hidden.extend(is_open.then_some(directory));
        }
        let has_others = found.iter().any(|(path, kind)| kind.is_char_device() && can_be_opened(path));
        let disks = found.into_iter().filter(|(path, kind)| kind.is_block_device() && can_be_opened(path));
        self.hidden.extend(disks.map(|(path, _)| path));
        self.others.extend(has_others.then_some(directory));
    }
}

/// Whether a device right in the directory is hidden.
fn is_hidden(name: &str, kind: FileType) -> bool {
    kind.is_block_device() || kind.is_char_device() && (MEMORY.contains(&name) || is_terminal(name))
}

/// Whether this is a terminal that everybody on the machine would share.
fn is_terminal(name: &str) -> bool {
    let is_numbered = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name == CONSOLE || name != OWN_TERMINAL && TERMINALS.iter().any(is_numbered)
}

fn can_be_opened(path: &Path) -> bool {
    [Access::READ_OK, Access::WRITE_OK].iter().any(|access| rustix::fs::access(path, *access).is_ok())
}

fn entries(directory: &Path) -> impl Iterator<Item = (PathBuf, FileType)> {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry: DirEntry| Some((entry.path(), entry.file_type().ok()?)))
}

/// Devices in a directory and below.
fn collect(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, FileType)>) {
    for (path, kind) in entries(directory) {
        if kind.is_block_device() || kind.is_char_device() {
            found.push((path, kind));
        } else if kind.is_dir() && depth > 1 {
            collect(&path, depth - 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_of_the_machine_are_known_by_their_names() {
        for name in ["tty0", "tty63", "ttyS0", "console", "vcs", "vcs1", "vcsa7", "vcsu", "hvc0"] {
            assert!(is_terminal(name), "{name}");
        }
        for name in ["tty", "ttyUSB0", "ttyACM1", "null", "ptmx", "hvcs", "vcs-1", "ttyprintk"] {
            assert!(!is_terminal(name), "{name}");
        }
    }
}
