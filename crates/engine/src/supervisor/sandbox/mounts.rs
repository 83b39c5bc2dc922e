//! Mounts of one namespace: empty directories over those with sockets, veils over what must not be seen, and everything
//! read-only but what can be written.

#![expect(unsafe_code, reason = "mount_setattr has no safe form")]

use std::ffi::CString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::domain::limits::{SANDBOX_TMPFS_BYTES_MAX, SANDBOX_TMPFS_FILES_MAX};
use rustix::fs::{CWD, FileType};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};

/// An unreadable file, mounted over others. It is made in a covered directory.
const VEIL: &str = "/run/.writ-veil";
/// The same for directories.
const VEIL_DIRECTORY: &str = "/run/.writ-veils";
const VEIL_DIRECTORY_MODE: u32 = 0o111;
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NODEV: u64 = 4;

/// What the new directory over another one is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountCover {
    /// Empty, and everybody may write there if nothing else forbids it.
    Shared,
    /// Empty, as its owner left it.
    Plain,
    /// Nobody can list it, and nothing can be made in it.
    Veil,
}

/// Puts an empty file system over a directory, in which there is room for so many bytes. What is at one of `keeps` inside
/// stays reachable.
pub(super) fn cover(target: &Path, kind: MountCover, bytes_max: u64, keeps: &[PathBuf]) -> io::Result<()> {
    let inside = keeps.iter().filter(|keep| keep.starts_with(target) && keep.as_path() != target);
    let mut kept: Vec<KeptMount<'_>> = Vec::new();
    for path in inside {
        let is_inside_another = kept.iter().any(|other| path.starts_with(other.path));
        if !is_inside_another && let Some(keep) = KeptMount::take(path)? {
            kept.push(keep);
        }
    }
    let mode = match kind {
        MountCover::Shared => "1777",
        MountCover::Plain => "755",
        MountCover::Veil => "111",
    };
    let options = CString::new(format!("mode={mode},size={bytes_max},nr_inodes={SANDBOX_TMPFS_FILES_MAX}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount(c"tmpfs", target, c"tmpfs", flags, Some(options.as_c_str()))?;
    for keep in kept {
        keep.put_back()?;
    }
    if kind == MountCover::Veil { make_read_only(target, MountDepth::This) } else { Ok(()) }
}

/// A mount that is in no directory at the moment.
struct KeptMount<'k> {
    path: &'k Path,
    tree: OwnedFd,
    is_directory: bool,
}

impl<'k> KeptMount<'k> {
    /// `None` if nothing is there.
    fn take(path: &'k Path) -> io::Result<Option<Self>> {
        let is_directory = match std::fs::metadata(path) {
            Ok(found) => found.is_dir(),
            Err(_) => return Ok(None),
        };
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        let tree = rustix::mount::open_tree(CWD, path, flags)?;
        Ok(Some(Self { path, tree, is_directory }))
    }

    fn put_back(self) -> io::Result<()> {
        let above = self.path.parent().unwrap_or(Path::new("/"));
        if self.is_directory {
            DirBuilder::new().recursive(true).mode(0o755).create(self.path)?;
        } else {
            DirBuilder::new().recursive(true).mode(0o755).create(above)?;
            OpenOptions::new().create(true).append(true).mode(0o600).open(self.path)?;
        }
        self.attach()
    }

    /// Over what is at its path.
    fn attach(self) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(rustix::mount::move_mount(&self.tree, c"", CWD, self.path, flags)?)
    }
}

/// Puts terminals of its own over those of the machine.
pub(super) fn new_terminals(directory: &str, maker: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    rustix::mount::mount(c"devpts", directory, c"devpts", flags, Some(options))?;
    // Where it is a link, it leads into the directory.
    if std::fs::symlink_metadata(maker).is_ok_and(|found| !found.is_symlink()) {
        rustix::mount::mount_bind(Path::new(directory).join("ptmx"), maker)?;
    }
    Ok(())
}

/// Makes everything read-only but these directories, which keep what is mounted in them as it is: nobody can change even
/// permissions, times or attributes of other files.
pub(super) fn leave_writable(open: &[PathBuf]) -> io::Result<()> {
    if open.iter().any(|path| path == Path::new("/")) {
        return Ok(());
    }
    let mut kept = Vec::new();
    for path in outermost(open) {
        kept.extend(KeptMount::take(path)?);
    }
    make_read_only(Path::new("/"), MountDepth::Whole)?;
    kept.into_iter().try_for_each(KeptMount::attach)
}

/// Those that are in none of the others. Files cannot be moved from one mount to another, so there is one for each tree.
fn outermost(paths: &[PathBuf]) -> Vec<&Path> {
    let mut sorted: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    sorted.sort_unstable();
    let mut outer: Vec<&Path> = Vec::new();
    for path in sorted {
        if !outer.last().is_some_and(|last| path.starts_with(last)) {
            outer.push(path);
        }
    }
    outer
}

/// Hides a file or a directory. What is at one of `keeps` inside stays reachable. Does nothing where nothing is.
pub(super) fn hide(path: &Path, keeps: &[PathBuf]) -> io::Result<()> {
    let Ok(found) = rustix::fs::lstat(path) else { return Ok(()) };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory if keeps.iter().any(|keep| keep.starts_with(path)) => {
            cover(path, MountCover::Veil, SANDBOX_TMPFS_BYTES_MAX, keeps)
        }
        FileType::Directory => Ok(rustix::mount::mount_bind(VEIL_DIRECTORY, path)?),
        // It leads to something that is hidden under its own name.
        FileType::Symlink => Ok(()),
        _ => hide_file(path),
    }
}

/// Hides what is there and neither a directory nor a link.
pub(super) fn hide_file(path: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(VEIL, path)?)
}

/// Makes what hides files and directories. The directory it is in was covered before.
pub(super) fn make_veils() -> io::Result<()> {
    drop(OpenOptions::new().create_new(true).write(true).mode(0o000).open(VEIL)?);
    DirBuilder::new().mode(VEIL_DIRECTORY_MODE).create(VEIL_DIRECTORY)?;
    // Read-only once, and so is every mount of it.
    for veil in [VEIL, VEIL_DIRECTORY] {
        rustix::mount::mount_bind(veil, veil)?;
        make_read_only(Path::new(veil), MountDepth::This)?;
    }
    Ok(())
}

/// Keeps everybody from writing to a file or a directory.
pub(super) fn protect(path: &Path) -> io::Result<()> {
    pin(path)?;
    make_read_only(path, MountDepth::Whole)
}

/// Keeps a directory from being moved or removed.
pub(super) fn pin(path: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind_recursive(path, path)?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountDepth {
    This,
    Whole,
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

fn make_read_only(path: &Path, depth: MountDepth) -> io::Result<()> {
    set_flag(path, MOUNT_ATTR_RDONLY, depth)
}

/// Sets nodev. Fails if the path is not a mount point.
pub(super) fn forbid_devices(path: &Path) -> io::Result<()> {
    set_flag(path, MOUNT_ATTR_NODEV, MountDepth::This)
}

/// Sets one flag and leaves the others, which a remount would have to repeat.
fn set_flag(path: &Path, flag: u64, depth: MountDepth) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let attributes = Attributes { set: flag, clear: 0, propagation: 0, users: 0 };
    let flags = if depth == MountDepth::Whole { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the kernel reads the name and the attributes, which outlive the call, and writes nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            CWD.as_raw_fd(),
            name.as_ptr(),
            flags,
            &raw const attributes,
            std::mem::size_of::<Attributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tree_is_mounted_once() {
        let cases = [
            (&["/w/src", "/w/target", "/h"][..], &["/h", "/w/src", "/w/target"][..]),
            (&["/w/src/a", "/w", "/w/src", "/w-2"], &["/w", "/w-2"]),
            (&["/w", "/w"], &["/w"]),
        ];
        for (paths, expected) in cases {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(outermost(&paths), expected.iter().map(Path::new).collect::<Vec<_>>());
        }
    }
}
