//! Devices that hold everything: who can read a disk reads every file on it.

use std::fs::DirEntry;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

const DIRECTORY: &str = "/dev";
/// Volumes have directories of their own there, and not more below.
const DEPTH_MAX: usize = 3;
/// Terminals, and what is covered. Nobody can make a device there.
const WITHOUT_DISKS: [&str; 2] = ["/dev/pts", "/dev/shm"];
/// The machine's memory and ports.
const MEMORY: [&str; 3] = ["/dev/mem", "/dev/kmem", "/dev/port"];

/// Disks and memory that this process could open: none for most users, all for root.
pub(super) fn disks() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(Path::new(DIRECTORY), DEPTH_MAX, &mut found);
    found.extend(MEMORY.map(PathBuf::from));
    found.retain(|path| rustix::fs::access(path, Access::READ_OK).is_ok());
    found
}

fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    for (entry, kind) in entries.filter_map(|entry: DirEntry| Some((entry.path(), entry.file_type().ok()?))) {
        if kind.is_block_device() {
            found.push(entry);
        } else if kind.is_dir() && depth > 1 && !WITHOUT_DISKS.iter().any(|other| entry == Path::new(other)) {
            collect(&entry, depth - 1, found);
        }
    }
}
