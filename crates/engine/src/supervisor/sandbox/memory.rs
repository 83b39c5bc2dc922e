//! The memory that processes of a namespace hold together: what is resident, and what is in files and segments that are
//! only in memory, whether a process maps them or not.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::domain::limits::SANDBOX_DESCRIPTORS_MAX;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::supervisor::process_table::Process;

/// How the kernel names a file that was made with `memfd_create`.
const MEMORY_FILE: &[u8] = b"/memfd:";
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;
/// Columns of the kernel's list of shared segments that say how much of one is resident, and how much is swapped out.
const SEGMENT_RESIDENT: &str = "rss";
const SEGMENT_SWAPPED: &str = "swap";

/// What processes hold. Memory that several of them map counts for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryUse {
    pub(super) bytes: u64,
    /// More descriptors are open than are looked at, so that not all is known.
    pub(super) is_partial: bool,
}

/// Where memory is looked for.
pub(super) struct MemoryMounts {
    /// Directories of the namespace that are only in memory.
    directories: Vec<PathBuf>,
    /// Whether this process sees the shared segments of the namespace. `None`: not tried yet.
    sees_segments: Option<bool>,
}

impl MemoryMounts {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, sees_segments: None }
    }

    pub(super) fn held(&mut self, processes: &[Process]) -> MemoryUse {
        let living: Vec<(PathBuf, u64)> =
            processes.iter().filter_map(|process| living(process.pid)).collect();
        let resident =
            living.iter().map(|(_, bytes)| bytes).fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let directories: u64 = self.directories.iter().filter_map(used_bytes).sum();
        let (files, is_partial) = memory_files(living.iter().map(|(place, _)| place.as_path()));
        let bytes = [resident, directories, files, self.segments(processes)];
        MemoryUse { bytes: bytes.into_iter().fold(0, u64::saturating_add), is_partial }
    }

    /// Moves this process into the namespace of segments that the processes have. All of them are in the same one: this
    /// process stands still until the program of the first of them begins. Says why it cannot.
    pub(super) fn see_segments(&mut self, processes: &[Process]) -> Option<String> {
        let open = |process: &Process| fs::File::open(format!("/proc/{}/ns/ipc", process.pid)).ok();
        // There may be none at the moment.
        self.enter(&processes.iter().find_map(open)?)
    }

    fn enter(&mut self, namespace: &fs::File) -> Option<String> {
        let kind = Some(LinkNameSpaceType::InterProcessCommunication);
        let moved = move_into_link_name_space(namespace.as_fd(), kind);
        self.sees_segments = Some(moved.is_ok());
        moved.err().map(|error| format!("System V segments cannot be counted: {error}"))
    }

    /// System V segments, which stay when nobody has them attached. The kernel lists those of the reader's own namespace, and
    /// this process uses none itself.
    fn segments(&mut self, processes: &[Process]) -> u64 {
        if self.sees_segments.is_none() {
            self.see_segments(processes);
        }
        if self.sees_segments == Some(true) {
            segment_bytes(&fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default())
        } else {
            0
        }
    }
}

fn segment_bytes(list: &str) -> u64 {
    let mut lines = list.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    let wanted =
        [SEGMENT_RESIDENT, SEGMENT_SWAPPED].map(|name| columns.iter().position(|column| *column == name));
    let of_line = |line: &str| -> u64 {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: &Option<usize>| fields.get((*at)?)?.parse::<u64>().ok();
        wanted.iter().filter_map(number).fold(0, u64::saturating_add)
    };
    lines.map(of_line).fold(0, u64::saturating_add)
}

/// Where the kernel tells about a process, and what of it is resident. `None` if it has ended. Where its first thread has
/// ended, the others still have its memory and its files.
fn living(pid: u32) -> Option<(PathBuf, u64)> {
    let place = PathBuf::from(format!("/proc/{pid}"));
    if let Some(bytes) = resident_bytes(&place) {
        return Some((place, bytes));
    }
    let mut threads = fs::read_dir(place.join("task")).ok()?.flatten().map(|thread| thread.path());
    threads.find_map(|thread| resident_bytes(&thread).map(|bytes| (thread, bytes)))
}

fn resident_bytes(place: &Path) -> Option<u64> {
    let status = fs::read_to_string(place.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Includes deleted files that are still open.
fn used_bytes(directory: &PathBuf) -> Option<u64> {
    let about = rustix::fs::statvfs(directory).ok()?;
    about.f_blocks.saturating_sub(about.f_bfree).checked_mul(about.f_frsize)
}

/// The size of files without a name that processes have open, each once, and whether some were not looked at.
fn memory_files<'p>(processes: impl Iterator<Item = &'p Path>) -> (u64, bool) {
    let mut known: BTreeSet<(u64, u64)> = BTreeSet::new();
    let (mut bytes, mut seen) = (0_u64, 0_usize);
    for process in processes {
        // It may have ended.
        let Ok(open) = fs::read_dir(process.join("fd")) else { continue };
        for entry in open.flatten() {
            seen += 1;
            if seen > SANDBOX_DESCRIPTORS_MAX {
                return (bytes, true);
            }
            let path = entry.path();
            let leads_to = fs::read_link(&path).unwrap_or_default();
            if !leads_to.as_os_str().as_bytes().starts_with(MEMORY_FILE) {
                continue;
            }
            let Ok(about) = fs::metadata(&path) else { continue };
            if known.insert((about.dev(), about.ino())) {
                bytes = bytes.saturating_add(about.blocks().saturating_mul(BLOCK_BYTES));
            }
        }
    }
    (bytes, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_cannot_be_counted_are_told() {
        let mut places = MemoryMounts::new(Vec::new());
        let told = places.enter(&fs::File::open("/dev/null").unwrap()).unwrap();
        assert!(told.starts_with("System V segments cannot be counted: "), "{told}");
        assert_eq!((places.sees_segments, places.segments(&[])), (Some(false), 0));
    }

    #[test]
    fn segments_count_with_what_is_resident_and_what_is_swapped_out() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
                    0          0  1600            1048576     7     7      0  1000  1000  1000  1000          0          0 1700000000               8192                  4096\n\
                    1          1  1600            1048576     7     7      0  1000  1000  1000  1000          0          0 1700000000               4096                     0\n";
        assert_eq!(segment_bytes(list), 8192 + 4096 + 4096);
        assert_eq!(segment_bytes(""), 0);
    }

    #[test]
    fn a_file_in_memory_counts_once_and_only_as_far_as_it_is_written() {
        let file = rustix::fs::memfd_create("writ-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let file = fs::File::from(file);
        let again = file.try_clone().unwrap();
        let held = || memory_files([Path::new("/proc/self")].into_iter()).0;
        let before = held();
        file.set_len(1 << 30).unwrap();
        std::io::Write::write_all(&mut &file, &vec![1; 1 << 20]).unwrap();
        assert_eq!(held() - before, 1 << 20);
        drop(again);
    }
}
