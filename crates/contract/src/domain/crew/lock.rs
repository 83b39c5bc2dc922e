//! Locks as the store grants them: over real places, with a token, until a lease ends.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::run::RunId;
use crate::domain::scope::{Scope, ScopeFault};
use crate::domain::task::TaskId;
use crate::domain::time::{Lease, Now, Timestamp};
use crate::operator::fencing::Refused;
use crate::operator::{Mode, TaskRef};

/// Everything that was granted to one task in one grant: all of it is held, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Grows with every grant of the store.
    pub token: i64,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub reference: TaskRef,
    /// An absolute path; the scopes are in it.
    pub workspace: String,
    pub scopes: Vec<Wanted>,
    /// Silent for longer, the holder is taken to be dead.
    pub timeout_ms: u64,
    pub lease: Lease,
}

/// One part of the workspace and how it is held.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    pub scope: Scope,
    pub mode: Mode,
}

/// One row of the lock table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    pub token: i64,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub reference: TaskRef,
    pub workspace: String,
    pub scope: Scope,
    /// Where it is, whatever workspace it is seen from.
    pub place: Scope,
    pub mode: Mode,
    pub active: bool,
    pub timeout_ms: u64,
    pub lease: Lease,
    pub granted_at: Timestamp,
    pub released_at: Option<Timestamp>,
    pub release_reason: Option<String>,
}

/// A scope under its absolute name, by which the scopes of different workspaces are compared.
pub fn place(workspace: &str, scope: &Scope) -> Result<Scope, ScopeFault> {
    if scope.is_absolute() {
        return Err(ScopeFault::Escape);
    }
    Scope::parse(&format!("{}/{}", workspace.trim_end_matches('/'), scope.as_str()), None)
}

/// A lease that ends when the holder was silent for longer than `timeout`; exactly at its end it still holds.
pub fn lease(now: &Now, timeout: Duration) -> Lease {
    Lease::starting(now, timeout.saturating_add(Duration::from_millis(1)))
}

/// The lock that conflicts with `wanted`, if one does. Locks of the same task never do. An expired lock is
/// still held: only the watchdog's sweep frees it.
pub fn obstacle<'h>(
    task_id: &TaskId,
    wanted: &[(Scope, Mode)],
    held: &'h [Held],
    fold: bool,
) -> Option<&'h Held> {
    let overlap = |a: &Scope, b: &Scope| if fold { a.overlaps_ignoring_case(b) } else { a.overlaps(b) };
    held.iter().filter(|lock| lock.active && lock.task_id != *task_id).find(|lock| {
        let both_shared = |mode: Mode| mode == Mode::Shared && lock.mode == Mode::Shared;
        wanted.iter().any(|(place, mode)| !both_shared(*mode) && overlap(place, &lock.place))
    })
}

/// Whether the bearer of `token` may speak for the task: the grant is the current one and has not run out.
pub fn admit(held: &[Held], token: i64, now: &Now) -> Result<(), Refused> {
    let current = held.iter().find(|lock| lock.active && lock.token == token).ok_or(Refused::StaleToken)?;
    if current.lease.is_live(now) { Ok(()) } else { Err(Refused::TimedOut) }
}
