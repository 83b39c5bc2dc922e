//! The tasks around the one at hand: how many, what it waits for, what comes next, and what others hold.

use contract::continuity::brief::{HeldTask, TaskCounts, TaskLine};
use contract::domain::status::Status;
use contract::domain::task::Task;
use store::{TakeableState, TaskSearch, Tx};

use super::Viewpoint;
use crate::error::Result;
use crate::host::HostView;
use crate::run::Liveness;

/// How many live claims are searched for those of other agents, and how many are listed.
const CLAIMS: usize = 100;
const HELD: usize = 10;
const TASKS: usize = 5;
const NEIGHBOURS: usize = 20;

pub(super) fn counts(tx: &Tx<'_>, place: &Viewpoint<'_>) -> Result<TaskCounts> {
    let mut counts = TaskCounts::default();
    let tallies = if place.project.is_some() { tx.task_tallies(place.project)? } else { tx.task_counts()? };
    tallies.into_iter().for_each(|(status, tasks)| counts.add(status, tasks));
    Ok(counts)
}

pub(super) fn finished(tx: &Tx<'_>, place: &Viewpoint<'_>) -> Result<Vec<TaskLine>> {
    let finished = tx.finished_tasks(place.project, TASKS)?;
    Ok(place.lines(finished.iter().filter(|task| place.sees(task.updated_at))))
}

/// Dependencies that are not done.
pub(super) fn waits_for(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let mut waited = Vec::new();
    for id in task.into_iter().flat_map(|task| &task.depends_on) {
        waited.extend(tx.task(id)?.filter(|needed| needed.status != Status::Done));
        if waited.len() == NEIGHBOURS {
            break;
        }
    }
    Ok(place.lines(&waited))
}

pub(super) fn unlocks(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let mut waiting = Vec::new();
    for id in tx.dependents(&task.id, NEIGHBOURS)? {
        waiting.extend(tx.task(&id)?);
    }
    Ok(place.lines(&waiting))
}

/// Tasks that other agents hold, by the end of their claims.
pub(super) fn held(
    (tx, view): (&Tx<'_>, &HostView),
    place: &Viewpoint<'_>,
    task: Option<&Task>,
) -> Result<Vec<HeldTask>> {
    // Claims are known only as they are now.
    if place.as_of.is_some() {
        return Ok(Vec::new());
    }
    let mut held = Vec::new();
    for other in tx.claimed_tasks(place.project, place.now, CLAIMS)? {
        let is_own = task.is_some_and(|task| task.id == other.id);
        let Some(claim) = other.claim.as_ref().filter(|claim| claim.agent != place.agent.as_str()) else {
            continue;
        };
        let liveness = claim.holder.as_ref().map(|holder| view.liveness(&holder.process)).transpose()?;
        // A dead holder's task is free, and listed with what comes next.
        if is_own || liveness == Some(Liveness::Dead) || held.len() == HELD {
            continue;
        }
        held.push(HeldTask {
            id: other.id.to_string(),
            title: other.title.clone(),
            status: other.status.continuity().to_owned(),
            agent: claim.agent.clone(),
            program: claim.holder.as_ref().map(|holder| holder.program.clone()),
            is_alive: liveness == Some(Liveness::Alive),
            since: claim.since.unwrap_or(other.updated_at),
            until: place.now.at.plus(claim.lease.left(place.now)),
        });
    }
    Ok(held)
}

/// What the agent could take after the task.
pub(super) fn pipeline(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let search = TaskSearch { agent: place.agent.as_str(), project: place.project };
    let open = tx.takeable(TakeableState::Ready, search, place.now, TASKS + 1)?;
    let others = open.iter().filter(|other| task.is_none_or(|task| task.id != other.id));
    Ok(place.lines(others.take(TASKS)))
}
