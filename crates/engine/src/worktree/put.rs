//! Puts the files of one commit in the place of those of another. Each path changes in one step, from what the one commit has
//! to what the other has, so an interrupted change can be undone path by path. A path with other content is a foreign change.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use contract::domain::rollback::text;
use rustix::fs::{CWD, RenameFlags, Stat};
use rustix::io::Errno;

use super::merge::is_refusal;
use super::{WorktreeError, io};
use crate::git::{self, Repo};
use crate::snapshots::place::ScopeRoot;
use crate::supervisor::Stdin;

/// A path in one of the trees, or in both with another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChangedPath {
    before: Option<PathKind>,
    after: Option<PathKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKind {
    File,
    /// A submodule: its directory is not touched.
    Repository,
}

/// What a path is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathState {
    Before,
    After,
    /// Somebody changed it.
    Other,
}

/// Whether the files were changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    /// Nothing was changed, because these paths have uncommitted changes or are not tracked.
    InTheWay(Vec<String>),
    /// The same, because of what is in the index, as git said it.
    Staged(String),
}

/// A change of files from one commit to another.
pub(super) struct Shift<'s> {
    /// The repository, with a list of files that only this change uses.
    pub(super) repo: Repo<'s>,
    pub(super) root: &'s Path,
    /// For new files, on the file system of the repository.
    pub(super) staging: PathBuf,
    pub(super) from: &'s str,
    pub(super) to: &'s str,
}

type Paths = BTreeMap<Vec<u8>, ChangedPath>;

/// Paths and what each was when it was looked at.
type Plan<'p> = Vec<(&'p [u8], ChangedPath, Option<Stat>)>;

/// What was seen in the workspace.
struct PathsToChange<'f> {
    place: &'f ScopeRoot,
    stats: BTreeMap<Vec<u8>, Option<Stat>>,
    /// Paths that are not as the one commit, or the other, has them.
    differ_before: BTreeSet<Vec<u8>>,
    differ_after: BTreeSet<Vec<u8>>,
}

impl Shift<'_> {
    /// Changes every path, or none if one has a foreign change. The index is then that of `to`. Sets `is_touched` with the
    /// first changed file: until then there is nothing to undo.
    pub(super) fn put(&self, is_touched: &Cell<bool>) -> Result<Put, WorktreeError> {
        let paths = self.paths()?;
        let place = ScopeRoot::open(self.root).map_err(io("open", self.root))?;
        let stats = stats(&place, &paths);
        self.unhide(&paths);
        let differ_before = self.differing(self.from)?;
        match self.repo.ask(&["read-tree", "-i", "-m", self.from, self.to]) {
            Err(git::GitError::Failed(said)) if is_refusal(&said) => return Ok(Put::Staged(said)),
            read => read?,
        };
        let differ_after = self.differing(self.to)?;
        let found = PathsToChange { place: &place, stats, differ_before, differ_after };
        let (plan, mut in_the_way) = self.planned(&paths, &found);
        if in_the_way.is_empty() {
            self.stage(&plan)?;
            is_touched.set(true);
            in_the_way = self.change(&place, &plan)?;
            self.repo.says(&["update-index", "-q", "--refresh"])?;
        }
        in_the_way.sort_unstable();
        in_the_way.dedup();
        let named: Vec<String> = in_the_way.into_iter().map(text).collect();
        Ok(if named.is_empty() { Put::Done } else { Put::InTheWay(named) })
    }

    /// Undoes an interrupted change from `to` to `from`. Foreign changes stay.
    pub(super) fn take_back(&self) -> Result<Put, WorktreeError> {
        let paths = self.paths()?;
        let place = ScopeRoot::open(self.root).map_err(io("open", self.root))?;
        let stats = stats(&place, &paths);
        let mut is_whole = self.repo.ask(&["read-tree", "-i", "-m", self.to, self.from]).is_ok();
        if !is_whole {
            // Somebody staged something meanwhile: the files are taken back, the index stays.
            self.repo.ask(&["read-tree", "--reset", self.from])?;
        }
        self.unhide(&paths);
        let differ_before = self.differing(self.from)?;
        is_whole &= self.repo.ask(&["read-tree", "-i", "-m", self.from, self.to]).is_ok();
        if !is_whole {
            self.repo.ask(&["read-tree", "--reset", self.to])?;
        }
        let differ_after = self.differing(self.to)?;
        let found = PathsToChange { place: &place, stats, differ_before, differ_after };
        let (mut plan, in_the_way) = self.planned(&paths, &found);
        let is_below =
            |path: &[u8], above: &[u8]| path.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"));
        plan.retain(|(path, ..)| !in_the_way.iter().any(|above| is_below(path, above)));
        self.stage(&plan)?;
        let left = self.change(&place, &plan)?;
        self.repo.says(&["update-index", "-q", "--refresh"])?;
        Ok(if is_whole { Put::Done } else { Put::InTheWay(left.into_iter().map(text).collect()) })
    }

    /// The paths to change, and those with foreign changes.
    fn planned<'p>(&self, paths: &'p Paths, found: &PathsToChange<'_>) -> (Plan<'p>, Vec<&'p [u8]>) {
        let mut in_the_way: Vec<&[u8]> = Vec::new();
        let mut plan: Plan<'_> = Vec::new();
        for (path, changed) in paths {
            let stat = found.stats[path];
            let differs = (found.differ_before.contains(path), found.differ_after.contains(path));
            match now(*changed, stat.is_none(), differs) {
                PathState::After => {}
                PathState::Before => plan.push((path, *changed, stat)),
                // A directory in which is nothing but what goes away.
                PathState::Other if changed.before.is_none() && holds_only(self.root, path, paths) => {
                    plan.push((path, *changed, stat));
                }
                PathState::Other => in_the_way.push(path),
            }
        }
        let comes = plan.iter().filter(|(_, changed, _)| changed.after.is_some());
        in_the_way.extend(comes.filter_map(|(path, ..)| file_above(found.place, path, paths)));
        (plan, in_the_way)
    }

    fn paths(&self) -> Result<Paths, WorktreeError> {
        let words = ["diff-tree", "-r", "-z", "--raw", "--no-renames", self.from, self.to, "--"];
        let printed = self.repo.ask(&words)?;
        let mut fields = printed.split(|byte| *byte == 0);
        let mut paths = Paths::new();
        while let (Some(modes), Some(path)) = (fields.next().filter(|modes| !modes.is_empty()), fields.next())
        {
            let kind = |mode: &[u8]| match mode {
                b"000000" => None,
                b"160000" => Some(PathKind::Repository),
                _ => Some(PathKind::File),
            };
            let mut modes = modes.strip_prefix(b":").unwrap_or(modes).split(|byte| *byte == b' ');
            let (before, after) = (modes.next().and_then(kind), modes.next().and_then(kind));
            paths.insert(path.to_vec(), ChangedPath { before, after });
        }
        Ok(paths)
    }

    /// Includes files that are marked assume-unchanged.
    fn unhide(&self, paths: &Paths) {
        let known = paths.iter().filter(|(_, changed)| changed.before == Some(PathKind::File));
        let known: Vec<&[u8]> = known.map(|(path, _)| path.as_slice()).collect();
        let words = ["update-index", "-z", "--no-assume-unchanged", "--stdin"];
        // It fails with a staged removal, which the next step refuses.
        self.repo.ask_with(&words, &[], Stdin::Bytes(joined(&known))).ok();
    }

    /// Paths with files that differ from the index, which is that of `commit`.
    fn differing(&self, commit: &str) -> Result<BTreeSet<Vec<u8>>, WorktreeError> {
        // The rules of that commit say how its files are written, not those that are there.
        let rules = [("GIT_ATTR_SOURCE", commit)];
        // Files that were only touched must not look like edits. It ends with 1 if there are others.
        self.repo.run(&["update-index", "-q", "--refresh"], &rules, Stdin::Closed)?;
        let words = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"];
        let printed = self.repo.ask_with(&words, &rules, Stdin::Closed)?;
        Ok(printed.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
    }

    /// Writes the new files beside the workspace: a full disk is noticed before anything is changed there.
    fn stage(&self, plan: &Plan<'_>) -> Result<(), WorktreeError> {
        let is_file =
            |(_, changed, _): &&(&[u8], ChangedPath, Option<Stat>)| changed.after == Some(PathKind::File);
        let wanted: Vec<&[u8]> = plan.iter().filter(is_file).map(|(path, ..)| *path).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let prefix = format!("--prefix={}/", self.staging.to_str().ok_or(WorktreeError::NotText)?);
        let words = ["checkout-index", "-q", "-z", "--stdin", &prefix];
        self.repo.ask_with(&words, &[("GIT_ATTR_SOURCE", self.to)], Stdin::Bytes(joined(&wanted)))?;
        Ok(())
    }

    /// Removes what goes, then moves the new files to their places. Returns the paths with foreign changes.
    fn change<'p>(&self, place: &ScopeRoot, plan: &Plan<'p>) -> Result<Vec<&'p [u8]>, WorktreeError> {
        let mut left = Vec::new();
        let failed = |path: &[u8]| io("change", &self.root.join(OsStr::from_bytes(path)));
        let (goes, comes): (Vec<_>, Vec<_>) =
            plan.iter().partition(|(_, changed, _)| changed.after.is_none());
        for &&(path, changed, stat) in &goes {
            if changed.before == Some(PathKind::Repository) {
                continue;
            }
            if is_same(place, path, stat) {
                remove(place, path).map_err(failed(path))?;
            } else {
                left.push(path);
            }
        }
        place.moved();
        for &&(path, changed, stat) in &comes {
            if changed.after == Some(PathKind::Repository) {
                continue;
            }
            let is_in_place = stat.is_none_or(|stat| is_directory(&stat));
            if !is_in_place && !is_same(place, path, stat) {
                left.push(path);
                continue;
            }
            if !self.bring(place, path, is_in_place).map_err(failed(path))? {
                left.push(path);
            }
        }
        Ok(left)
    }

    /// False if something is in its place by now.
    fn bring(&self, place: &ScopeRoot, path: &[u8], is_new: bool) -> io::Result<bool> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends {
            let spot = place.spot(&path[..end])?;
            match rustix::fs::mkdirat(&*spot.directory, spot.name, rustix::fs::Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let spot = place.spot(path)?;
        if is_new && spot.stat()?.is_some_and(|stat| is_directory(&stat)) {
            remove_empty(&self.root.join(OsStr::from_bytes(path)))?;
        }
        let staged = self.staging.join(OsStr::from_bytes(path));
        let flags = if is_new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        match rustix::fs::renameat_with(CWD, &staged, &*spot.directory, spot.name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // File systems that do not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) if is_new && spot.stat()?.is_none() => {
                rustix::fs::renameat(CWD, &staged, &*spot.directory, spot.name)?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn now(changed: ChangedPath, is_absent: bool, (differs_before, differs_after): (bool, bool)) -> PathState {
    let is = |kind: Option<PathKind>, differs: bool| match kind {
        None => is_absent,
        Some(PathKind::File) => !differs,
        Some(PathKind::Repository) => true,
    };
    if is(changed.after, differs_after) {
        PathState::After
    } else if is(changed.before, differs_before) {
        PathState::Before
    } else {
        PathState::Other
    }
}

fn stats(place: &ScopeRoot, paths: &Paths) -> BTreeMap<Vec<u8>, Option<Stat>> {
    paths.keys().map(|path| (path.clone(), stat(place, path))).collect()
}

/// `None` if there is nothing, or something else in the place of a directory above it.
fn stat(place: &ScopeRoot, path: &[u8]) -> Option<Stat> {
    place.spot(path).and_then(|spot| spot.stat()).ok().flatten()
}

fn is_directory(stat: &Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir()
}

fn is_same(place: &ScopeRoot, path: &[u8], then: Option<Stat>) -> bool {
    let key = |stat: Stat| {
        (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_mode)
    };
    stat(place, path).map(key) == then.map(key)
}

/// What is above a path and neither a directory nor about to go.
fn file_above<'p>(place: &ScopeRoot, path: &'p [u8], paths: &Paths) -> Option<&'p [u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends {
        let above = &path[..end];
        let stat = stat(place, above)?;
        if !is_directory(&stat) {
            let goes = paths.get(above).is_some_and(|changed| changed.after.is_none());
            return (!goes).then_some(above);
        }
    }
    None
}

/// Whether a directory has nothing in it but directories and what goes away.
fn holds_only(root: &Path, path: &[u8], paths: &Paths) -> bool {
    let directory = root.join(OsStr::from_bytes(path));
    let Ok(metadata) = directory.symlink_metadata() else { return false };
    let Some(entries) = metadata.is_dir().then(|| fs::read_dir(&directory).ok()).flatten() else {
        return false;
    };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let inner = [path, b"/", entry.file_name().as_bytes()].concat();
        let goes = paths.get(&inner).is_some_and(|changed| changed.after.is_none());
        goes || holds_only(root, &inner, paths)
    })
}

/// Removes a file and the directories that are empty then.
fn remove(place: &ScopeRoot, path: &[u8]) -> io::Result<()> {
    place.spot(path)?.remove_file()?;
    let ends = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends {
        place.moved();
        if place.spot(&path[..end])?.remove_directory().is_err() {
            break;
        }
    }
    Ok(())
}

/// Removes directories in which are only directories.
fn remove_empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    fs::remove_dir(directory)
}

fn joined(paths: &[&[u8]]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.iter().chain(&[0])).copied().collect()
}
