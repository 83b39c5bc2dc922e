//! Snapshots: what the scope of each attempt was before it began and when it ended, kept beside the store.
//!
//! Contents are in one store of objects, named by their digests, so that a file that did not change is kept once. Of each
//! attempt there are two records: the tree before it with all contents, and the tree after it; a rollback keeps the
//! contents that it replaces. A damaged record or object is noticed, because everything carries its digest.

mod collect;
mod objects;
pub(crate) mod place;
mod record;
mod repositories;
mod restore;
mod take;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::outside::covers;
use contract::domain::rollback::TreeNode;
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;
use rustix::fs::{FlockOperation, flock};

pub(crate) use restore::NOT_TAKEN;
pub use restore::{Beside, Between, RestoreJob};
pub use take::SnapshotSubject;

use objects::{Objects, ReadLimits};
use place::ScopeRoot;
use record::{RecordError, RecordSide, SnapshotRecord};

/// Where snapshots are kept. Without a directory nothing is.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    directory: Option<PathBuf>,
    /// A smaller limit than `SNAPSHOT_FILE_BYTES_MAX`.
    file_bytes_max: Option<u64>,
}

/// Why snapshots cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("no snapshots are kept here")]
    Nowhere,
    #[error("no snapshot of the task is kept")]
    Missing,
    #[error("what attempt {0} left is not known: its engine died, or lost its locks")]
    EndUnknown(AttemptId),
    #[error("the snapshot of attempt {0} is damaged")]
    Damaged(AttemptId),
    #[error("the snapshot of attempt {0} has a form that this version of writ does not know")]
    OtherVersion(AttemptId),
    #[error("the snapshots are in use; waited {} s (SNAPSHOTS_WAIT_MAX)", limits::SNAPSHOTS_WAIT_MAX.as_secs())]
    InUse,
    #[error("`{0}` is in a git repository's own directory, which cannot be taken back")]
    Repository(Scope),
    #[error("the workspace could not be looked at as a whole: {0}")]
    Partial(crate::index::Partial),
    /// Only in tests: a rollback that was to end after some of its steps.
    #[error("stopped")]
    Stopped,
    #[error("{doing}")]
    Io { doing: String, source: io::Error },
}

impl SnapshotError {
    fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> SnapshotError {
        let doing = doing.into();
        move |source| SnapshotError::Io { doing, source }
    }
}

/// Copies a file of a workspace to another name in it, without following links. False if there is no such file.
pub(crate) fn copy_inside(root: &Path, from: &[u8], to: &[u8]) -> io::Result<bool> {
    let place = ScopeRoot::open(root)?;
    let file = match place.spot(from).and_then(|spot| spot.open()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let bounds = bounds(None);
    place.write(to, |into| objects::copy(&file, into, &bounds).map(drop))?;
    Ok(true)
}

/// Opens a file of a workspace, without following links. `None` if there is nothing.
pub(crate) fn open_inside(root: &Path, path: &[u8]) -> io::Result<Option<File>> {
    let place = ScopeRoot::open(root)?;
    match place.spot(path).and_then(|spot| spot.open()) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The scope of an attempt as it was before.
pub(crate) struct Before(SnapshotRecord);

/// What was at a path before an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PriorState {
    File([u8; 32]),
    Absent,
    /// It is in no scope, git ignores it, or it was not read.
    Unknown,
}

impl Before {
    pub(crate) fn at(&self, path: &str) -> PriorState {
        let is_in_scope = self.0.header.scopes.iter().any(|scope| covers(scope, path, false));
        let bytes = path.as_bytes();
        let is_below = |ignored: &Vec<u8>| {
            bytes.strip_prefix(ignored.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        match self.0.tree.get(bytes) {
            Some(TreeNode::File { digest, .. }) => PriorState::File(*digest),
            Some(_) => PriorState::Unknown,
            None if !is_in_scope || self.0.ignored.iter().any(is_below) => PriorState::Unknown,
            None => PriorState::Absent,
        }
    }
}

/// What one snapshot or rollback that begins now may read.
fn bounds(file_bytes_max: Option<u64>) -> ReadLimits {
    ReadLimits {
        bytes_max: file_bytes_max.unwrap_or(limits::SNAPSHOT_FILE_BYTES_MAX),
        deadline: Some(Instant::now() + limits::SNAPSHOT_TIME_MAX),
    }
}

/// Writes a file of a workspace as a whole, without following links.
pub(crate) fn write_inside(root: &Path, to: &[u8], bytes: &[u8]) -> io::Result<()> {
    ScopeRoot::open(root)?.write(to, |mut into| into.write_all(bytes))
}

/// The file that reserves space.
const RESERVE: &str = "reserve";

/// Held while objects are looked for and relied on, so that no collection removes them meanwhile.
struct Hold(#[expect(dead_code, reason = "closing it releases the lock")] File);

impl Snapshots {
    pub fn at(directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..Self::default() }
    }

    /// With a smaller limit than `SNAPSHOT_FILE_BYTES_MAX`.
    #[must_use]
    pub fn limited_to(self, file_bytes_max: u64) -> Self {
        Self { file_bytes_max: Some(file_bytes_max), ..self }
    }

    pub fn is_kept(&self) -> bool {
        self.directory.is_some()
    }

    /// Whether an attempt has a snapshot.
    pub fn has(&self, attempt: &AttemptId) -> bool {
        self.record_path(attempt, RecordSide::Before).is_some_and(|path| path.exists())
    }

    /// When it was recorded what an attempt left. `None` if it was not.
    pub fn recorded_at(&self, attempt: &AttemptId) -> Option<Timestamp> {
        self.load(attempt, RecordSide::After).ok().flatten().map(|record| record.header.at)
    }

    /// What the scope of an attempt was before it. `None` if that was not kept.
    pub(crate) fn before(&self, attempt: &AttemptId) -> Option<Before> {
        self.load(attempt, RecordSide::Before).ok().flatten().map(Before)
    }

    /// The scopes of the attempts that have a snapshot, each once.
    pub fn scopes(&self, attempts: &[AttemptId]) -> Result<Vec<Scope>, SnapshotError> {
        let mut scopes: Vec<Scope> = Vec::new();
        for attempt in attempts {
            let Some(record) = self.load(attempt, RecordSide::Before)? else { continue };
            scopes.extend(record.header.scopes);
        }
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() { Err(SnapshotError::Missing) } else { Ok(scopes) }
    }

    /// Gives back the space that is reserved for a full disk. False if there is none.
    pub fn release_reserve(&self) -> bool {
        self.directory.as_ref().is_some_and(|directory| fs::remove_file(directory.join(RESERVE)).is_ok())
    }

    /// Reserves some space while there is enough.
    fn reserve(&self) -> Result<(), SnapshotError> {
        let path = self.directory()?.join(RESERVE);
        if !path.exists() && fs::write(&path, vec![1; limits::SNAPSHOTS_RESERVE_BYTES]).is_err() {
            // A partial reserve is useless.
            fs::remove_file(&path).ok();
        }
        Ok(())
    }

    /// Removes what was kept of an attempt that did not begin.
    pub fn forget(&self, attempt: &AttemptId) {
        for side in [RecordSide::Before, RecordSide::After] {
            if let Some(path) = self.record_path(attempt, side) {
                // A later collection removes what is left.
                fs::remove_file(path).ok();
            }
        }
    }

    fn directory(&self) -> Result<&PathBuf, SnapshotError> {
        let directory = self.directory.as_ref().ok_or(SnapshotError::Nowhere)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(SnapshotError::io(format!("could not make {}", directory.display())))?;
        Ok(directory)
    }

    fn objects(&self) -> Result<Objects, SnapshotError> {
        Objects::at(self.directory()?).map_err(SnapshotError::io("could not open the content store"))
    }

    /// To read from. Makes nothing, so it also works on a disk that cannot be written.
    fn objects_as_they_are(&self) -> Result<Objects, SnapshotError> {
        self.directory.as_ref().map(|directory| Objects::as_they_are(directory)).ok_or(SnapshotError::Nowhere)
    }

    /// Waits for the lock on the snapshots.
    fn hold(&self, how: FlockOperation) -> Result<Hold, SnapshotError> {
        let path = self.directory()?.join("lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(SnapshotError::io(format!("could not open {}", path.display())))?;
        let deadline = Instant::now() + limits::SNAPSHOTS_WAIT_MAX;
        loop {
            match flock(&file, how) {
                Ok(()) => return Ok(Hold(file)),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < deadline => {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    return Err(SnapshotError::InUse);
                }
                Err(error) => return Err(SnapshotError::io("could not lock the snapshots")(error.into())),
            }
        }
    }

    fn hold_shared(&self) -> Result<Hold, SnapshotError> {
        self.hold(FlockOperation::NonBlockingLockShared)
    }

    fn record_path(&self, attempt: &AttemptId, side: RecordSide) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{attempt}.{}", side.as_str())))
    }

    fn load(&self, attempt: &AttemptId, side: RecordSide) -> Result<Option<SnapshotRecord>, SnapshotError> {
        let path = self.record_path(attempt, side).ok_or(SnapshotError::Nowhere)?;
        match fs::read(&path) {
            Ok(bytes) => SnapshotRecord::read(&bytes).map(Some).map_err(|why| match why {
                RecordError::Damaged => SnapshotError::Damaged(attempt.clone()),
                RecordError::Unknown => SnapshotError::OtherVersion(attempt.clone()),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SnapshotError::io(format!("could not read {}", path.display()))(error)),
        }
    }
}

#[cfg(test)]
mod tests;
