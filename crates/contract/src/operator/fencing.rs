//! Lock grants with fencing tokens, which distinguish an earlier holder from the current one.

use std::collections::BTreeMap;
use std::time::Duration;

use super::codes::Code;
use super::locks::scope_of;
use super::options::Options;
use super::watchdog::{latest_heartbeat, timed_out};
use crate::domain::crew::lock::LockRefusal;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::scope::{Scope, ScopeFault};
use crate::domain::time::Timestamp;

/// The grants of one run. Only a sweep frees the locks of a silent holder; no task can take them directly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The token of the last grant. One counter for the run; it only increases.
    last_token: u64,
    held: BTreeMap<TaskRef, TaskLocks>,
}

/// The locks of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLocks {
    pub token: u64,
    pub scopes: Vec<Scope>,
    pub timeout: Duration,
    pub last_heartbeat_at: Timestamp,
}

impl From<LockRefusal> for Code {
    fn from(refusal: LockRefusal) -> Self {
        match refusal {
            LockRefusal::Conflict => Code::LockConflict,
            LockRefusal::Nothing => Code::MissingRequiredInput,
            LockRefusal::Scope(ScopeFault::Escape) => Code::ScopeViolation,
            LockRefusal::Scope(_) => Code::SchemaInvalid,
            LockRefusal::StaleToken | LockRefusal::DeadToken => Code::ConcurrencyConflict,
            LockRefusal::ForgedToken => Code::NonCompliant,
            LockRefusal::TimedOut => Code::TaskTimeout,
        }
    }
}

/// The locks that a task requests.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub task_id: &'a TaskRef,
    pub resources: &'a [String],
    pub timeout: Duration,
}

impl Grants {
    /// Grants all resources or none and returns the token. A grant is also a first heartbeat. A task that holds
    /// something already gets a new grant, and its old token becomes invalid.
    pub fn acquire(
        &mut self,
        request: Request,
        now: Timestamp,
        options: &Options,
    ) -> Result<u64, LockRefusal> {
        let mut scopes = Vec::new();
        for resource in request.resources {
            scopes.push(scope_of(resource, options)?);
        }
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() {
            return Err(LockRefusal::Nothing);
        }
        let overlap =
            |a: &Scope, b: &Scope| if options.fold { a.overlaps_ignoring_case(b) } else { a.overlaps(b) };
        let others = self.held.iter().filter(|(task_id, _)| *task_id != request.task_id);
        let mut taken = others.flat_map(|(_, grant)| &grant.scopes);
        if taken.any(|taken| scopes.iter().any(|wanted| overlap(wanted, taken))) {
            return Err(LockRefusal::Conflict);
        }
        self.last_token += 1;
        let grant =
            TaskLocks { token: self.last_token, scopes, timeout: request.timeout, last_heartbeat_at: now };
        self.held.insert(request.task_id.clone(), grant);
        Ok(self.last_token)
    }

    /// Records a heartbeat. A holder that has timed out is not revived by a late one.
    pub fn heartbeat(&mut self, task_id: &TaskRef, token: u64, now: Timestamp) -> Result<(), LockRefusal> {
        let grant = self.current(task_id, token)?;
        if timed_out(now, grant.last_heartbeat_at, grant.timeout) {
            return Err(LockRefusal::TimedOut);
        }
        let heard = latest_heartbeat(Some(grant.last_heartbeat_at), now);
        if let Some(grant) = self.held.get_mut(task_id) {
            grant.last_heartbeat_at = heard;
        }
        Ok(())
    }

    /// Whether a result may be integrated: only from the holder of the current grant, and in time.
    pub fn submit(&self, task_id: &TaskRef, token: u64, now: Timestamp) -> Result<(), LockRefusal> {
        let grant = self.current(task_id, token)?;
        if timed_out(now, grant.last_heartbeat_at, grant.timeout) {
            return Err(LockRefusal::TimedOut);
        }
        Ok(())
    }

    /// Releases the locks of a task.
    pub fn release(&mut self, task_id: &TaskRef, token: u64) -> Result<(), LockRefusal> {
        self.current(task_id, token)?;
        self.held.remove(task_id);
        Ok(())
    }

    /// Releases the locks of silent holders and returns their tasks, which become blocked and are planned again.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<TaskRef> {
        let silent = |grant: &TaskLocks| timed_out(now, grant.last_heartbeat_at, grant.timeout);
        let tasks: Vec<TaskRef> =
            self.held.iter().filter(|(_, grant)| silent(grant)).map(|(task_id, _)| task_id.clone()).collect();
        for task_id in &tasks {
            self.held.remove(task_id);
        }
        tasks
    }

    pub fn grant(&self, task_id: &TaskRef) -> Option<&TaskLocks> {
        self.held.get(task_id)
    }

    fn current(&self, task_id: &TaskRef, token: u64) -> Result<&TaskLocks, LockRefusal> {
        self.held.get(task_id).filter(|grant| grant.token == token).ok_or(LockRefusal::StaleToken)
    }
}
