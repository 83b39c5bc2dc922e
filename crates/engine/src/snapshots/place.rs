//! A workspace through descriptors of its directories. No step follows a link, so nothing outside is ever reached.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use contract::digest;
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, Stat};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(crate) struct ScopeRoot {
    root: Rc<OwnedFd>,
    /// The directory that was opened last: most paths have the same as the one before.
    last: RefCell<Option<(Vec<u8>, Rc<OwnedFd>)>>,
}

/// A name in an open directory.
pub(crate) struct Spot<'p> {
    pub(crate) directory: Rc<OwnedFd>,
    pub(crate) name: &'p OsStr,
}

impl ScopeRoot {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Self { root: Rc::new(root), last: RefCell::new(None) })
    }

    pub(crate) fn spot<'p>(&self, path: &'p [u8]) -> io::Result<Spot<'p>> {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = at.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        Ok(Spot { directory: self.directory(parent)?, name: OsStr::from_bytes(name) })
    }

    /// Writes a file as a whole, in directories that are made where they are missing.
    pub(super) fn write(&self, path: &[u8], fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends {
            let spot = self.spot(&path[..end])?;
            match rustix::fs::mkdirat(&*spot.directory, spot.name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (spot, name) = (self.spot(path)?, temporary(path));
        let fresh = Spot { directory: spot.directory.clone(), name: OsStr::new(&name) };
        // Left behind by one that was killed.
        fresh.remove_file().ok();
        let file = fresh.create()?;
        fill(&file)?;
        rustix::fs::fchmod(&file, mode_of(0o644))?;
        fresh.rename_to(spot.name)
    }

    /// Forgets the directory that was opened last: it may be another one now.
    pub(crate) fn moved(&self) {
        self.last.take();
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        super::objects::sync_around(&File::from(self.root.try_clone()?))
    }

    fn directory(&self, path: &[u8]) -> io::Result<Rc<OwnedFd>> {
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        if let Some((known, directory)) = &*self.last.borrow()
            && known == path
        {
            return Ok(directory.clone());
        }
        let mut here = self.root.clone();
        for name in path.split(|byte| *byte == b'/') {
            here = Rc::new(rustix::fs::openat(&*here, OsStr::from_bytes(name), DIRECTORY, Mode::empty())?);
        }
        *self.last.borrow_mut() = Some((path.to_vec(), here.clone()));
        Ok(here)
    }
}

impl Spot<'_> {
    /// `None` if there is nothing.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&*self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file for reading. What took its place is not opened: a link, or a pipe that would wait for its other end.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&*self.directory, self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    pub(super) fn read_link(&self) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&*self.directory, self.name, Vec::<u8>::new())?.into_bytes())
    }

    /// A new empty file, where there is nothing.
    pub(super) fn create(&self) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(rustix::fs::openat(&*self.directory, self.name, flags, mode)?))
    }

    pub(super) fn make_link(&self, target: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(OsStr::from_bytes(target), &*self.directory, self.name)?)
    }

    pub(crate) fn make_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&*self.directory, self.name, Mode::RWXU)?)
    }

    /// Sets the mode of a file or a directory.
    pub(super) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&*self.directory, self.name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(opened, mode_of(mode))?)
    }

    pub(super) fn mode_of_directory(&self) -> io::Result<u32> {
        Ok(rustix::fs::fstat(&*self.directory)?.st_mode & 0o7777)
    }

    pub(super) fn set_mode_of_directory(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&*self.directory, mode_of(mode))?)
    }

    pub(crate) fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&*self.directory, self.name, AtFlags::empty())?)
    }

    pub(crate) fn remove_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&*self.directory, self.name, AtFlags::REMOVEDIR)?)
    }

    /// Whether it is a directory with entries, as far as it can be read.
    pub(super) fn is_filled(&self) -> bool {
        let opened = rustix::fs::openat(&*self.directory, self.name, DIRECTORY, Mode::empty());
        let listed = opened.and_then(rustix::fs::Dir::new).into_iter().flatten().flatten();
        listed.map(|entry| entry.file_name().to_bytes().to_owned()).any(|name| name != b"." && name != b"..")
    }

    /// Exchanges what is here with what has another name in the same directory, in one step.
    pub(super) fn exchange_with(&self, name: &OsStr) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        Ok(rustix::fs::renameat_with(&*self.directory, self.name, &*self.directory, name, flags)?)
    }

    /// Moves what is here to another name in the same directory, over what is there.
    pub(super) fn rename_to(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&*self.directory, self.name, &*self.directory, name)?)
    }
}

pub(super) fn mode_of(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

/// The name of the file that becomes the one at `path`. Always the same, so that one that was left behind is found.
pub(super) fn temporary(path: &[u8]) -> String {
    format!(".writ-{}.tmp", &digest::of_bytes(path)["sha256:".len()..][..16])
}
