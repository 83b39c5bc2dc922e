//! Which other tasks could change files of a workspace while one task ran.

use std::collections::BTreeMap;

use contract::domain::crew::lock::{HeldLock, LockRefusal};
use contract::domain::limits;
use contract::domain::outside::OtherTask;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::{Now, Timestamp};
use store::Tx;

use super::denial::refused;
use super::grants::ancestors;
use crate::checking::project_directory;
use crate::context::Context;
use crate::error::Result;

/// When an interval began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// No lock that was active then has a lower token.
    pub oldest_grant: i64,
    /// The token of the task's own lock. Locks with a higher one were granted later, whatever the clock said.
    pub own_grant: i64,
    pub at: Timestamp,
}

/// The beginning of an interval in this workspace, for a task with this token.
pub fn begin(cx: &mut Context, workspace: &str, own_grant: i64, at: Timestamp) -> Result<Since> {
    Ok(Since { oldest_grant: oldest_grant(&cx.store.read()?, workspace)?, own_grant, at })
}

/// The beginning of an interval that another engine began with the first lock of this task. That lock may be gone, so
/// all locks since then are looked at.
pub fn began(cx: &mut Context, own: &TaskId, at: Timestamp) -> Result<Since> {
    let history = cx.store.read()?.lock_history_of_task(own, limits::LIST_ROWS_MAX)?;
    let own_grant = history.iter().map(|lock| lock.token).min().unwrap_or(i64::MAX);
    Ok(Since { oldest_grant: 0, own_grant, at })
}

/// The lowest token of the locks around a workspace. Every later grant has a higher one.
pub(crate) fn oldest_grant(tx: &Tx<'_>, workspace: &str) -> Result<i64> {
    let around = tx.locks_around(&root_of(workspace)?)?;
    Ok(around.iter().map(|lock| lock.token).min().unwrap_or(i64::MAX))
}

/// The same as [`others_in`], in a transaction of its own.
pub fn others(cx: &mut Context, run: &Run, own: &TaskId, since: Since) -> Result<Vec<OtherTask>> {
    let now = cx.clock.now();
    others_in(&cx.store.read()?, run, own, since, &now)
}

/// The tasks that held a lock around the run's workspace since then, or that an agent has claimed there. Tasks that
/// started this run, and tasks of runs that this one started, are no others: they act for each other.
pub(crate) fn others_in(
    tx: &Tx<'_>,
    run: &Run,
    own: &TaskId,
    since: Since,
    now: &Now,
) -> Result<Vec<OtherTask>> {
    let root = root_of(&run.asked.workspace)?;
    let above = ancestors(tx, run)?;
    let mut found: BTreeMap<TaskId, OtherTask> = BTreeMap::new();
    for lock in locks(tx, &root, since)? {
        if lock.task_id == *own || above.contains(&lock.task_id) || is_below(tx, &lock, own)? {
            continue;
        }
        let scope = seen_from(&root, &lock.place);
        let worklog = worklog_of(tx, &lock)?;
        let name = name_of(tx, run, &lock)?;
        let other = found.entry(lock.task_id).or_insert_with(|| OtherTask { name, scopes: Vec::new() });
        other.scopes.extend([scope].into_iter().chain(worklog));
    }
    for task in tx.claimed_tasks(None, now, limits::LIST_ROWS_MAX)? {
        if task.id != *own && !above.contains(&task.id) && is_claimed_here(&task, run, &root) {
            let name = task.id.to_string();
            found.entry(task.id).or_insert_with(|| OtherTask { name, scopes: Vec::new() });
        }
    }
    Ok(found.into_values().collect())
}

/// Locks that were active at some time of the interval.
fn locks(tx: &Tx<'_>, root: &Scope, since: Since) -> Result<Vec<HeldLock>> {
    let mut found = tx.locks_since(since.oldest_grant, since.own_grant, since.at)?;
    found.extend(tx.locks_around(root)?.into_iter().filter(|lock| lock.token < since.oldest_grant));
    found.retain(|lock| lock.place.overlaps(root));
    Ok(found)
}

fn root_of(workspace: &str) -> Result<Scope> {
    Scope::parse(workspace, None).map_err(|fault| refused(LockRefusal::Scope(fault)))
}

/// Whether the lock belongs to a run that this task started.
fn is_below(tx: &Tx<'_>, lock: &HeldLock, own: &TaskId) -> Result<bool> {
    match tx.run(&lock.run_id)? {
        Some(run) => Ok(ancestors(tx, &run)?.contains(own)),
        None => Ok(false),
    }
}

/// A place as seen from the workspace, which may be inside it.
fn seen_from(root: &Scope, place: &Scope) -> Scope {
    let whole = || Scope::parse(".", None).expect("BUG: the workspace is a scope");
    Scope::parse(place.as_str(), Some(root.as_str())).unwrap_or_else(|_| whole())
}

/// The worklog that writ keeps for an assignment.
fn worklog_of(tx: &Tx<'_>, lock: &HeldLock) -> Result<Option<Scope>> {
    let issued = tx.assignment(lock.token)?;
    let path = issued.as_ref().and_then(|issued| issued.packet["task"]["worklog_path"].as_str());
    Ok(path.and_then(|path| Scope::parse(path, Some(&lock.workspace)).ok()))
}

fn name_of(tx: &Tx<'_>, run: &Run, lock: &HeldLock) -> Result<String> {
    if lock.run_id != run.asked.id {
        return Ok(format!("{} of {}", lock.reference, lock.run_id));
    }
    let task = tx.task(&lock.task_id)?;
    Ok(task.and_then(|task| task.part).map_or_else(|| lock.reference.to_string(), |part| part.spec.id))
}

/// Whether an agent works on the task in this workspace. The agent that submitted the run waits for it.
fn is_claimed_here(task: &Task, run: &Run, root: &Scope) -> bool {
    let directory = project_directory(task.project_id.as_deref());
    let place = directory.and_then(|directory| Scope::parse(directory, None).ok());
    let is_here = place.is_some_and(|place| place.overlaps(root));
    let asked = &run.asked.requested_by;
    let submitter = asked.strip_prefix("agent.").unwrap_or(asked);
    is_here && task.claim.as_ref().is_some_and(|claim| claim.agent != submitter)
}
