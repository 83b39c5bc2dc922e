//! Choosing the task: the rules are the contract's, the candidates come from the store.

use std::cmp::Reverse;

use contract::continuity::focus::{FocusRule, is_open_to, keeps};
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::{Now, Timestamp};
use store::{LoggedEvent, TakeableState, TaskSearch, Tx};

use crate::error::Result;
use crate::task::required;

/// The kind of the event that tells an agent of a task.
const ASSIGNED: &str = "task_assigned";

pub(super) struct FocusRequest<'a> {
    pub(super) agent: &'a Agent,
    pub(super) project: Option<&'a str>,
    /// The task that the caller named.
    pub(super) named: Option<&'a str>,
    /// The one the agent looked at last.
    pub(super) current: Option<&'a str>,
    /// Tasks with claims of dead agent processes that are not released yet.
    pub(super) orphans: &'a [Task],
}

pub(super) struct Chosen {
    pub(super) task: Option<Task>,
    pub(super) rule: FocusRule,
}

impl Chosen {
    fn of(task: Task, rule: FocusRule) -> Self {
        Self { task: Some(task), rule }
    }
}

pub(super) fn choose(
    tx: &Tx<'_>,
    now: &Now,
    asked: &FocusRequest<'_>,
    deltas: &[LoggedEvent],
) -> Result<Chosen> {
    if let Some(id) = asked.named {
        return Ok(Chosen::of(required(tx, id)?, FocusRule::Asked));
    }
    let mut kept = None;
    if let Some(current) = known(tx, asked, asked.current)?
        && is_open_to(&current, asked.agent, asked.project, now)
        && let Some(rule) = keeps(&current, tx.open_dependencies(&current.id)?)
    {
        match rule {
            FocusRule::Kept => kept = Some(current),
            stays => return Ok(Chosen::of(current, stays)),
        }
    }
    for event in deltas.iter().filter(|event| event.record.kind == ASSIGNED) {
        if let Some(task) = known(tx, asked, event.record.task_id.as_deref())?
            && task.status == Status::Todo
            && is_open_to(&task, asked.agent, asked.project, now)
            && tx.open_dependencies(&task.id)? == 0
        {
            return Ok(Chosen::of(task, FocusRule::Assigned));
        }
    }
    if let Some(task) = kept {
        return Ok(Chosen::of(task, FocusRule::Kept));
    }
    let search = TaskSearch { agent: asked.agent.as_str(), project: asked.project };
    for (waiting, rule) in
        [(TakeableState::Abandoned, FocusRule::Left), (TakeableState::Ready, FocusRule::Next)]
    {
        let mut free = tx.takeable(waiting, search, now, 1)?;
        for task in asked.orphans.iter().filter(|task| waiting.includes(task)) {
            if waiting != TakeableState::Ready || tx.open_dependencies(&task.id)? == 0 {
                free.push(Task { claim: None, ..task.clone() });
            }
        }
        if let Some(task) = free.into_iter().min_by_key(place) {
            return Ok(Chosen::of(task, rule));
        }
    }
    Ok(Chosen { task: None, rule: FocusRule::None })
}

/// A task that may have been deleted since it was named.
fn known(tx: &Tx<'_>, asked: &FocusRequest<'_>, id: Option<&str>) -> Result<Option<Task>> {
    let parsed = id.and_then(|id| contract::domain::id::Id::parse(id).ok());
    let found = parsed.map(|id| tx.task(&id)).transpose()?.flatten();
    let is_orphan = |task: &Task| asked.orphans.iter().any(|orphan| orphan.id == task.id);
    Ok(found.map(|task| if is_orphan(&task) { Task { claim: None, ..task } } else { task }))
}

/// Highest priority first, then oldest, as the store orders them.
fn place(task: &Task) -> (Reverse<i64>, Timestamp, TaskId) {
    (Reverse(task.priority), task.created_at, task.id.clone())
}
