//! The steps of a rollback, in an order in which each of them is possible and any prefix of them can be repeated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;

use contract::domain::rollback::{FileAction, FileStatus, PathChange, TreeNode};

use super::Item;
use crate::index::Stat;
use crate::snapshots::SnapshotError;
use crate::snapshots::objects::{Objects, ReadLimits};
use crate::snapshots::place::{ScopeRoot, Spot, mode_of, temporary};
use crate::snapshots::take::node_at;

/// The permissions that its owner needs to change what is in a directory.
const WRITABLE: u32 = 0o300;

pub(super) struct RestoreWork<'w> {
    pub(super) place: &'w ScopeRoot,
    pub(super) objects: &'w Objects,
    /// For what is kept before it is taken away.
    pub(super) bounds: ReadLimits,
    pub(super) steps_left: Option<usize>,
}

/// What its owner may do with a directory that is being filled.
const OWN: u32 = 0o700;

const NOT_EMPTY: RestoreStop = RestoreStop::Because(Cow::Borrowed("something else is in it"));

/// Why a path was not changed.
enum RestoreStop {
    Changed,
    Because(Cow<'static, str>),
    Io(io::Error),
    Fault(SnapshotError),
}

impl RestoreStop {
    fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        RestoreStop::Because(reason.into())
    }
}

impl From<io::Error> for RestoreStop {
    fn from(error: io::Error) -> Self {
        RestoreStop::Io(error)
    }
}

impl RestoreWork<'_> {
    /// Removes what a killed rollback left beside these paths.
    pub(super) fn clear_leftovers(
        &mut self,
        changes: &BTreeMap<Vec<u8>, PathChange>,
    ) -> Result<(), SnapshotError> {
        changes.iter().try_for_each(|(path, change)| self.clear(path, change.before))
    }

    pub(super) fn run(&mut self, items: &mut [Item]) -> Result<(), SnapshotError> {
        self.each(items, Item::is_planned, Self::keep)?;
        self.objects.sync().map_err(SnapshotError::io("could not write the content store"))?;
        self.each(items, Item::opens_directory, Self::set_mode)?;
        self.each_from_the_end(items, Item::is_removed, Self::remove)?;
        self.each(items, |item| item.is_planned() && !item.is_removed(), Self::make)?;
        self.each_from_the_end(items, |item| item.is_made() && item.is_made_directory(), Self::set_mode)?;
        for item in items.iter_mut().filter(|item| item.is_planned()) {
            item.result.status = FileStatus::Done;
        }
        self.place.sync().map_err(SnapshotError::io("could not write the workspace"))
    }

    fn each(
        &mut self,
        items: &mut [Item],
        which: impl Fn(&Item) -> bool,
        step: fn(&mut Self, &mut Item) -> Result<(), RestoreStop>,
    ) -> Result<(), SnapshotError> {
        items.iter_mut().filter(|item| which(item)).try_for_each(|item| self.one(item, step))
    }

    /// What is inside a directory comes before the directory.
    fn each_from_the_end(
        &mut self,
        items: &mut [Item],
        which: impl Fn(&Item) -> bool,
        step: fn(&mut Self, &mut Item) -> Result<(), RestoreStop>,
    ) -> Result<(), SnapshotError> {
        items.iter_mut().rev().filter(|item| which(item)).try_for_each(|item| self.one(item, step))
    }

    fn one(
        &mut self,
        item: &mut Item,
        step: fn(&mut Self, &mut Item) -> Result<(), RestoreStop>,
    ) -> Result<(), SnapshotError> {
        match step(self, item) {
            Ok(()) => {}
            Err(RestoreStop::Changed) => item.end(FileStatus::Conflict, "it changed during the rollback"),
            Err(RestoreStop::Because(reason)) => item.end(FileStatus::Conflict, reason),
            Err(RestoreStop::Io(error)) => item.end(FileStatus::Failed, error.to_string()),
            Err(RestoreStop::Fault(fault)) => return Err(fault),
        }
        Ok(())
    }

    /// Counts a step that changes something on the disk.
    fn step(&mut self) -> Result<(), RestoreStop> {
        match &mut self.steps_left {
            Some(0) => return Err(RestoreStop::Fault(SnapshotError::Stopped)),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }

    /// Keeps what is about to be taken away, so that a redo can bring it back.
    fn keep(&mut self, item: &mut Item) -> Result<(), RestoreStop> {
        let (digest, is_kept) = match item.change.after {
            Some(TreeNode::File { digest, size, .. }) => (digest, self.objects.has(&digest, size)),
            Some(TreeNode::Link { digest }) => (digest, self.objects.has_some(&digest)),
            Some(TreeNode::Directory { .. }) | None => return Ok(()),
            // No redo makes a pipe or a device; it has no content either.
            Some(TreeNode::Special { .. }) => return Ok(()),
            Some(TreeNode::Unread { size, .. }) if size > self.bounds.bytes_max => {
                return Err(RestoreStop::because(self.bounds.too_large()));
            }
            Some(TreeNode::Unread { .. }) => {
                return Err(RestoreStop::because("what the task left there was not read"));
            }
        };
        if item.stat.is_none() || item.result.action == FileAction::Mode || is_kept {
            return Ok(());
        }
        let spot = self.spot(item)?;
        self.step()?;
        let kept = match item.change.after {
            Some(TreeNode::Link { .. }) => self.objects.put_bytes(&spot.read_link()?)?.0,
            _ => self.objects.put_file(&spot.open()?, &self.bounds)?.digest,
        };
        if kept == digest { Ok(()) } else { Err(RestoreStop::Changed) }
    }

    fn set_mode(&mut self, item: &mut Item) -> Result<(), RestoreStop> {
        let Some(TreeNode::Directory { mode } | TreeNode::File { mode, .. }) = item.change.before else {
            return Ok(());
        };
        let spot = self.spot(item)?;
        self.step()?;
        Ok(spot.set_mode(mode)?)
    }

    fn remove(&mut self, item: &mut Item) -> Result<(), RestoreStop> {
        let spot = self.spot(item)?;
        let Some(stat) = &item.stat else {
            self.step()?;
            let removed = self.in_open(&spot, Spot::remove_directory);
            self.place.moved();
            return match removed {
                Err(RestoreStop::Io(error)) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    Err(NOT_EMPTY)
                }
                removed => removed,
            };
        };
        unchanged(&spot, Some(stat))?;
        self.step()?;
        self.in_open(&spot, Spot::remove_file)
    }

    /// Changes what is in a directory, even if its mode forbids that: its owner can open it for a moment.
    fn in_open<'s, T>(
        &mut self,
        spot: &Spot<'s>,
        change: impl Fn(&Spot<'s>) -> io::Result<T>,
    ) -> Result<T, RestoreStop> {
        let refused = match change(spot) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
            done => return Ok(done?),
        };
        let mode = spot.mode_of_directory()?;
        if mode & WRITABLE == WRITABLE {
            return Err(refused.into());
        }
        self.step()?;
        spot.set_mode_of_directory(mode | OWN)?;
        self.step()?;
        let changed = change(spot);
        self.step()?;
        spot.set_mode_of_directory(mode)?;
        Ok(changed?)
    }

    /// Makes what was there beside its place, and moves it there.
    fn make(&mut self, item: &mut Item) -> Result<(), RestoreStop> {
        let Some(before) = item.change.before else { return Ok(()) };
        // It gets its mode when everything in it is done.
        if before.is_directory() && item.is_directory_now {
            return Ok(());
        }
        if item.result.action == FileAction::Mode {
            unchanged(&self.spot(item)?, item.stat.as_ref())?;
            return self.set_mode(item);
        }
        let spot = self.spot(item).map_err(|stop| match stop {
            RestoreStop::Io(error) if is_way_blocked(&error) => {
                RestoreStop::because("its directory is not there")
            }
            other => other,
        })?;
        let name = temporary(&item.path);
        let fresh = Spot { directory: spot.directory.clone(), name: OsStr::new(&name) };
        let made = self.prepare(&fresh, &before).and_then(|()| self.land(&spot, &fresh, item));
        self.place.moved();
        if matches!(made, Err(RestoreStop::Changed | RestoreStop::Because(_) | RestoreStop::Io(_))) {
            self.clear(&item.path, item.change.before).map_err(RestoreStop::Fault)?;
        }
        made
    }

    fn prepare(&mut self, fresh: &Spot<'_>, before: &TreeNode) -> Result<(), RestoreStop> {
        self.step()?;
        match before {
            TreeNode::Directory { mode } => {
                self.in_open(fresh, Spot::make_directory)?;
                self.step()?;
                Ok(fresh.set_mode(mode | OWN)?)
            }
            TreeNode::File { mode, digest, .. } => {
                let file = self.in_open(fresh, Spot::create)?;
                self.step()?;
                self.objects.copy_to(digest, &file)?;
                Ok(rustix::fs::fchmod(&file, mode_of(*mode)).map_err(io::Error::from)?)
            }
            TreeNode::Link { digest } => {
                let target = self.objects.read(digest)?;
                self.in_open(fresh, |fresh| fresh.make_link(&target))
            }
            TreeNode::Special { .. } | TreeNode::Unread { .. } => {
                Err(RestoreStop::because("it cannot be made again"))
            }
        }
    }

    /// Renames the prepared entry into place, so that the path always exists.
    fn land(&mut self, spot: &Spot<'_>, fresh: &Spot<'_>, item: &Item) -> Result<(), RestoreStop> {
        let is_directory = |node: Option<TreeNode>| node.is_some_and(|node| node.is_directory());
        let after = item.change.after;
        if !is_directory(after) {
            unchanged(spot, item.stat.as_ref())?;
        } else if !is_directory(item.change.before) && spot.is_filled() {
            return Err(NOT_EMPTY);
        }
        if after.is_none() || is_directory(after) == is_directory(item.change.before) {
            self.step()?;
            return self.in_open(fresh, |fresh| fresh.rename_to(spot.name));
        }
        let exchange = |fresh: &Spot<'_>| fresh.exchange_with(spot.name);
        self.step()?;
        self.in_open(fresh, exchange)?;
        self.step()?;
        let remove = if is_directory(after) { Spot::remove_directory } else { Spot::remove_file };
        match self.in_open(fresh, remove) {
            Err(RestoreStop::Io(error)) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.in_open(fresh, exchange)?;
                Err(NOT_EMPTY)
            }
            removed => removed,
        }
    }

    /// Removes the temporary entry of `path`. If that is a directory with entries, a killed rollback moved it there: it is
    /// moved back, so that the entries are found again and reported.
    fn clear(&mut self, path: &[u8], before: Option<TreeNode>) -> Result<(), SnapshotError> {
        let name = temporary(path);
        let Ok(spot) = self.place.spot(path) else { return Ok(()) };
        let left = Spot { directory: spot.directory.clone(), name: OsStr::new(&name) };
        // There usually is none.
        let Ok(Some(_)) = left.stat() else { return Ok(()) };
        let remove = |left: &Spot<'_>| left.remove_file().or_else(|_| left.remove_directory());
        let cleared = match self.in_open(&left, remove) {
            Err(RestoreStop::Io(error))
                if error.kind() == io::ErrorKind::DirectoryNotEmpty
                    && before.is_some()
                    && node_at(self.place, path, &self.bounds) == before =>
            {
                self.move_back(&left, &spot)
            }
            cleared => cleared,
        };
        match cleared {
            Err(RestoreStop::Fault(fault)) => Err(fault),
            // It is in the way later, and reported then.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Exchanges a directory that was moved aside with what the rollback made in its place, and removes the latter.
    fn move_back(&mut self, left: &Spot<'_>, spot: &Spot<'_>) -> Result<(), RestoreStop> {
        self.step()?;
        self.in_open(left, |left| left.exchange_with(spot.name))?;
        self.place.moved();
        self.step()?;
        self.in_open(left, Spot::remove_file)
    }

    fn spot<'i>(&self, item: &'i Item) -> Result<Spot<'i>, RestoreStop> {
        Ok(self.place.spot(&item.path)?)
    }
}

impl Item {
    /// Whether nothing is to be there.
    fn is_removed(&self) -> bool {
        self.is_planned() && self.change.before.is_none()
    }

    /// Whether something is to be there.
    fn is_made(&self) -> bool {
        self.is_planned() && self.change.before.is_some()
    }

    fn is_made_directory(&self) -> bool {
        self.change.before.as_ref().is_some_and(TreeNode::is_directory)
    }

    /// Whether it is a directory that can be written once it has its mode again.
    fn opens_directory(&self) -> bool {
        let is_open = |node: &Option<TreeNode>| matches!(node, Some(TreeNode::Directory { mode }) if mode & WRITABLE == WRITABLE);
        self.is_planned() && self.result.action == FileAction::Mode && is_open(&self.change.before)
    }
}

/// Whether the way to a path does not exist: a directory is missing, or something else is in its place.
fn is_way_blocked(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP))
}

/// Looks a last time before something is changed.
fn unchanged(spot: &Spot<'_>, known: Option<&Stat>) -> Result<(), RestoreStop> {
    match (spot.stat()?, known) {
        (None, None) => Ok(()),
        (Some(found), Some(known)) if known.is_of(&Stat::of_found(&found)) => Ok(()),
        (_, _) => Err(RestoreStop::Changed),
    }
}
