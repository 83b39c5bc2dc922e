//! Starting children and waiting for what they do. The supervisor is behind it, or a simulation.

mod run;
mod shortage;
mod supervised;

use std::error::Error;
use std::time::Duration;

use contract::domain::process::{Remains, StoreFile};
use contract::domain::run::Owner;
use ops::run::Liveness;

use crate::supervisor::{ChildReport, LaunchSpec, OwnerIdentity, StartError};

pub use run::{
    Answered, ChildLimits, ChildOutput, RunError, Wish, ask, confinement_here, namespace_here, run,
};
pub use shortage::Shortage;
pub use supervised::sandbox_here;

/// Starts processes for an engine, and tells it about other engines.
pub trait Launcher: Send + Sync {
    /// Names the store that the children are started for. Only the first one counts.
    fn work_for(&self, _store: &StoreFile) {}

    /// The store that the children are started for, once it is known.
    fn store(&self) -> Option<&StoreFile> {
        None
    }

    /// The process that starts the children. It is part of their marks.
    fn identity(&self) -> OwnerIdentity;

    /// The same process as the store records the owner of a run.
    fn owner(&self) -> Owner;

    /// Whether the owner of a run is alive.
    fn probe(&self, owner: &Owner) -> Liveness;

    /// Ends the processes of a dead engine and returns what is left. A live engine is not touched.
    fn settle(&self, engine: &Owner) -> Remains;

    /// The same without ending anything: a dead engine counts as gone.
    fn look_at(&self, engine: &Owner) -> Remains;

    /// Ends an engine and all visible processes that it started, and returns what is left.
    fn end_engine(&self, engine: &Owner) -> Remains;

    /// The pid by which an engine is known here. `None` where it is not there or cannot be seen.
    fn pid_here(&self, engine: &Owner) -> Option<u32> {
        Some(engine.pid)
    }

    /// How long this process and its children were stopped by job control so far. It counts toward no timeout.
    fn paused_ms(&self) -> i64 {
        0
    }

    /// Ends the children of engines of this store that died. Those of living engines stay.
    fn end_leftovers(&self);

    /// A clock that never goes back, for deadlines. It stands still while this process and its children are stopped.
    fn monotonic_ms(&self) -> i64;

    /// Waits for this long.
    fn pause(&self, length: Duration);

    /// What a sandbox would lack here. `None` if it would lack nothing.
    fn sandbox_lacks(&self) -> Option<String> {
        None
    }

    /// A new group without any child.
    fn children(&self) -> Box<dyn Children>;
}

/// Children that report into one queue. Dropping the group kills them.
pub trait Children {
    /// Starts a child. Its reports carry the number, which must be unique in this group.
    fn start(&mut self, number: u64, spec: LaunchSpec) -> Result<(), StartError>;

    /// The next report of any child, or `None` if there is none within `patience`.
    fn next(&mut self, patience: Duration) -> Option<(u64, ChildReport)>;

    /// Gives a child more to read, if its input was kept open. Does nothing if it has ended.
    fn write(&self, number: u64, bytes: &[u8]);

    /// Asks a child to end, and ends it after its grace. Returns at once; does nothing if it has ended.
    fn stop(&self, number: u64);

    /// Ends a child and everything it started. Returns at once; does nothing if it has ended.
    fn kill(&self, number: u64);

    /// Kills all children and waits until they are gone.
    fn end_all(&mut self);
}

/// An error and everything behind it, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
