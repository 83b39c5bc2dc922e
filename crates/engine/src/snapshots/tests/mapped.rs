//! Edits through a shared mapping, which change no time of the file.

#![expect(unsafe_code, reason = "mmap has no safe form")]

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use contract::domain::rollback::{Direction, FileStatus};
use testkit::eventually;

use super::World;
use crate::index::How;

const LENGTH: usize = 3;

/// A file of three bytes in the memory of this process.
struct Mapped(*mut u8);

impl Mapped {
    fn of(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let (may, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), LENGTH, may, shared, file.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Self(at.cast())
    }

    fn write(&self, bytes: &[u8; LENGTH]) {
        // SAFETY: the mapping has this length, and the file is never shorter.
        unsafe { self.0.copy_from(bytes.as_ptr(), LENGTH) };
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing else uses the mapping.
        unsafe { libc::munmap(self.0.cast(), LENGTH) };
    }
}

#[test]
fn an_edit_through_a_mapping_is_a_conflict_although_no_time_changed() {
    let mut world = World::new();
    let path = world.root.join("src/a");
    fs::write(&path, "one").unwrap();
    let mut mapped = None;
    let attempt = world.attempt(1, |_| {
        let open = Mapped::of(&path);
        open.write(b"two");
        mapped = Some(open);
    });
    let mapped = mapped.unwrap();
    let look =
        || world.index.look(&world.root, &How { always: &world.scopes, is_only: true, ..How::default() });
    let changed = || fs::metadata(&path).map(|found| (found.ctime(), found.ctime_nsec())).unwrap();
    eventually("an edit that no time shows", || {
        // The kernel notes the first change of a page, and no other before it has written the page to the disk.
        mapped.write(b"two");
        if look().files_read() > 0 {
            return false;
        }
        let before = changed();
        mapped.write(b"MIN");
        changed() == before
    });
    for _ in ["the first time", "and again"] {
        let files = world.roll(&attempt, Direction::Undo);
        assert_eq!(files.iter().map(|file| file.status).collect::<Vec<_>>(), [FileStatus::Conflict]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "MIN");
    }
    // As the task left it, it is taken back.
    mapped.write(b"two");
    world.roll(&attempt, Direction::Undo);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
}
