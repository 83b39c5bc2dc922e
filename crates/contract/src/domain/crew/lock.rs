//! Locks as the store grants them: on absolute paths, with a token, until a lease expires.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task_ref::TaskRef;
use crate::domain::process::ProcessIdentity;
use crate::domain::run::RunId;
use crate::domain::scope::{Scope, ScopeFault};
use crate::domain::task::TaskId;
use crate::domain::time::{Lease, Now, Timestamp};
use crate::shape::words;

words! {
    /// How a lock is held.
    LockMode {
        Exclusive = "exclusive",
        /// Others may hold it shared too.
        Shared = "shared",
    }
}

/// All locks that were granted to a task at once: all of them or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Increases with every grant of the store.
    pub token: i64,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub reference: TaskRef,
    /// An absolute path; the scopes are relative to it.
    pub workspace: String,
    pub scopes: Vec<WantedLock>,
    /// A holder that sends no heartbeat for longer than this is considered dead.
    pub timeout_ms: u64,
    pub lease: Lease,
    /// The engine that works under these locks. They are its as long as it or anything that it started exists, whatever
    /// the lease says. Without one, the lease alone counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ProcessIdentity>,
}

/// A path in the workspace and the lock mode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WantedLock {
    pub scope: Scope,
    pub mode: LockMode,
}

/// One row of the lock table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldLock {
    pub token: i64,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub reference: TaskRef,
    pub workspace: String,
    pub scope: Scope,
    /// Its absolute path, independent of the workspace.
    pub place: Scope,
    pub mode: LockMode,
    pub active: bool,
    pub timeout_ms: u64,
    pub lease: Lease,
    /// The engine that works under it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ProcessIdentity>,
    pub granted_at: Timestamp,
    pub released_at: Option<Timestamp>,
    pub release_reason: Option<String>,
}

/// How the reason begins with which a sweep took a lock from an engine that is gone.
pub const ENGINE_GONE: &str = "its engine is gone";
/// How the reason begins with which a person took a lock from its holder.
pub const FORCED: &str = "forced";

/// Whether a lock was taken from its holder, and not released by it.
pub fn was_taken(release_reason: &str) -> bool {
    release_reason.starts_with(ENGINE_GONE) || release_reason.starts_with(FORCED)
}

/// A scope as an absolute path, so that scopes of different workspaces can be compared.
pub fn place(workspace: &str, scope: &Scope) -> Result<Scope, ScopeFault> {
    if scope.is_absolute() {
        return Err(ScopeFault::Escape);
    }
    Scope::parse(&format!("{}/{}", workspace.trim_end_matches('/'), scope.as_str()), None)
}

/// A lease that expires when the holder is silent for longer than `timeout`; exactly at its end it still holds.
pub fn lease(now: &Now, timeout: Duration) -> Lease {
    Lease::starting(now, timeout.saturating_add(Duration::from_millis(1)))
}

/// The lock that conflicts with `wanted`, if one does. Locks of the same task never do. An expired lock is
/// still held: only the watchdog's sweep frees it.
pub fn obstacle<'h>(
    task_id: &TaskId,
    wanted: &[(Scope, LockMode)],
    held: &'h [HeldLock],
    fold: bool,
) -> Option<&'h HeldLock> {
    let overlap = |a: &Scope, b: &Scope| if fold { a.overlaps_ignoring_case(b) } else { a.overlaps(b) };
    held.iter().filter(|lock| lock.active && lock.task_id != *task_id).find(|lock| {
        let both_shared = |mode: LockMode| mode == LockMode::Shared && lock.mode == LockMode::Shared;
        wanted.iter().any(|(place, mode)| !both_shared(*mode) && overlap(place, &lock.place))
    })
}

/// Why a lock is not granted, or its holder may not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockRefusal {
    #[error("another task holds a lock on part of it")]
    Conflict,
    #[error("the lock scope is empty")]
    Nothing,
    #[error("a resource {0}")]
    Scope(#[from] ScopeFault),
    #[error("the token is not the one of the task's current lock")]
    StaleToken,
    #[error("the token was not given out for this task")]
    ForgedToken,
    #[error("all tokens of this age were withdrawn")]
    DeadToken,
    #[error("the holder's heartbeat timed out; its lock is about to be released")]
    TimedOut,
}

impl LockRefusal {
    pub fn rule(self) -> &'static str {
        match self {
            LockRefusal::Conflict => "active_lock",
            LockRefusal::Nothing => "missing",
            LockRefusal::Scope(fault) => fault.rule(),
            LockRefusal::StaleToken => "stale_fencing_token",
            LockRefusal::ForgedToken => "token_forged",
            LockRefusal::DeadToken => "token_dead",
            LockRefusal::TimedOut => "heartbeat_too_old",
        }
    }
}

/// Whether the holder of `token` may act for the task: the grant is the current one and has not expired.
pub fn admit(held: &[HeldLock], token: i64, now: &Now) -> Result<(), LockRefusal> {
    let current =
        held.iter().find(|lock| lock.active && lock.token == token).ok_or(LockRefusal::StaleToken)?;
    if current.lease.is_live(now) { Ok(()) } else { Err(LockRefusal::TimedOut) }
}
