//! Lists locks and their holders.

use contract::domain::crew::lock::{HeldLock, LockRefusal, was_taken};
use contract::domain::limits;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use super::{LockView, view};
use crate::context::Context;
use crate::crew::denial::refused;
use crate::crew::grants;
use crate::crew::ledger_state::find_run;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "lock.list";
    const COMMAND: &'static str = "lock list";
    const SUMMARY: &'static str = "List locks and their holders";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only locks of this run.
    #[serde(default)]
    pub run: Option<String>,
    /// Also released locks; needs a run.
    #[serde(default)]
    pub history: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub locks: Vec<LockView>,
}

/// Locks of other runs that overlap this run's workspace, except those of the tasks that started this run.
pub fn around(cx: &mut Context, run: &Run) -> Result<Vec<HeldLock>> {
    let tx = cx.store.read()?;
    let workspace =
        Scope::parse(&run.asked.workspace, None).map_err(|fault| refused(LockRefusal::Scope(fault)))?;
    let above = grants::ancestors(&tx, run)?;
    let mut held = tx.locks_around(&workspace)?;
    held.retain(|lock| lock.run_id != run.asked.id && !above.contains(&lock.task_id));
    Ok(held)
}

/// Why the locks under a token were taken from their holder. `None` if they are held, or were given back.
pub fn taken(cx: &mut Context, token: i64) -> Result<Option<String>> {
    let held = cx.store.read()?.locks_of_token(token)?;
    let reasons = held.into_iter().filter(|lock| !lock.active).filter_map(|lock| lock.release_reason);
    Ok(reasons.into_iter().find(|reason| was_taken(reason)))
}

/// The lock of another task that may have written in this task's scope after this task lost its locks.
pub fn lost_to(cx: &mut Context, task: &TaskId) -> Result<Option<HeldLock>> {
    lost_in(&cx.store.read()?, task)
}

/// The same inside a transaction.
pub(crate) fn lost_in(tx: &Tx<'_>, task: &TaskId) -> Result<Option<HeldLock>> {
    let own = tx.lock_history_of_task(task, limits::LIST_ROWS_MAX)?;
    let Some(last) = own.first().map(|lock| lock.token) else { return Ok(None) };
    let own: Vec<HeldLock> = own.into_iter().filter(|lock| lock.token == last).collect();
    let is_taken = |lock: &HeldLock| !lock.active && lock.release_reason.as_deref().is_some_and(was_taken);
    if !own.iter().any(is_taken) {
        return Ok(None);
    }
    let overlaps = |other: &HeldLock| own.iter().any(|lock| lock.place.overlaps_ignoring_case(&other.place));
    let mut from = last;
    loop {
        let later = tx.locks_granted_after(from, limits::LIST_ROWS_MAX)?;
        let Some(newest) = later.last().map(|lock| lock.token) else { return Ok(None) };
        if let Some(found) = later.into_iter().find(|other| other.task_id != *task && overlaps(other)) {
            return Ok(Some(found));
        }
        from = newest;
    }
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let locks = match &request.run {
        Some(run) => {
            let id = find_run(&tx, run)?.asked.id;
            if request.history {
                tx.lock_history(&id, limits::LIST_ROWS_MAX)?
            } else {
                tx.active_locks_of_run(&id)?
            }
        }
        None => tx.active_locks(limits::LIST_ROWS_MAX)?,
    };
    let locks: Vec<LockView> = locks.into_iter().map(|held| view(held, &now)).collect();
    Ok(Answer { count: locks.len(), locks })
}
