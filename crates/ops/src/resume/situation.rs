//! Gathering what the brief is made of. Every look is bounded.

use contract::continuity::brief::{Counts, ProjectView, Situation, TaskLine};
use contract::continuity::{ArtifactView, EventView};
use contract::domain::memory::{Memory, Place as MemoryPlace, Scope};
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use store::{EventFilter, TaskFilter, Tx};

use crate::error::Result;
use crate::event;

/// The newest events of a task in which to look for what an agent said.
const EVENTS: usize = 200;
/// The newest events of a project in which to look for what users asked.
const PROJECT_EVENTS: usize = 100;
/// Memories of each scope; the best of all of them are shown.
const MEMORIES: usize = 200;
const ARTIFACTS: usize = 50;
const TASKS: usize = 5;
const NEIGHBOURS: usize = 20;
const USER_PROMPT: &str = "user_prompt";

/// Who looks, and where.
pub(super) struct Place<'p> {
    pub(super) agent: &'p Agent,
    pub(super) project: Option<&'p str>,
    pub(super) program: &'p str,
}

pub(super) fn gather<'s>(
    tx: &Tx<'_>,
    place: &Place<'s>,
    task: Option<&'s Task>,
    as_of: Timestamp,
) -> Result<Situation<'s>> {
    let mut counts = Counts::default();
    let tallies = if place.project.is_some() { tx.task_tallies(place.project)? } else { tx.task_counts()? };
    tallies.into_iter().for_each(|(status, tasks)| counts.add(status, tasks));
    Ok(Situation {
        program: place.program,
        agent: place.agent.as_str(),
        as_of,
        project: project(tx, place.project, as_of)?,
        task,
        waits_for: waits_for(tx, task)?,
        memories: memories(tx, place, task, as_of)?,
        events: task_events(tx, task)?,
        prompts: prompts(tx, place.project)?,
        artifacts: artifacts(tx, task)?,
        counts,
        pipeline: pipeline(tx, place.project, task)?,
        unlocks: unlocks(tx, task)?,
        finished: tx.finished_tasks(place.project, TASKS)?.iter().map(TaskLine::from).collect(),
    })
}

/// A project that was named but never seen has at least its name.
fn project(tx: &Tx<'_>, id: Option<&str>, as_of: Timestamp) -> Result<Option<ProjectView>> {
    let Some(id) = id else { return Ok(None) };
    let view = match tx.project_row(id)? {
        Some(known) => ProjectView {
            id: known.id,
            name: known.name,
            metadata: known.metadata,
            created_at: known.created_at.to_string(),
        },
        None => ProjectView {
            id: id.to_owned(),
            name: id.to_owned(),
            metadata: String::new(),
            created_at: as_of.to_string(),
        },
    };
    Ok(Some(view))
}

/// Dependencies that are not done.
fn waits_for(tx: &Tx<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let mut lines = Vec::new();
    for id in task.into_iter().flat_map(|task| &task.depends_on) {
        if let Some(needed) = tx.task(id)?.filter(|needed| needed.status != Status::Done) {
            lines.push(TaskLine::from(&needed));
        }
        if lines.len() == NEIGHBOURS {
            break;
        }
    }
    Ok(lines)
}

fn unlocks(tx: &Tx<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    for id in tx.dependents(&task.id, NEIGHBOURS)? {
        lines.extend(tx.task(&id)?.as_ref().map(TaskLine::from));
    }
    Ok(lines)
}

/// Of the task, of the project, of the agent and of everyone.
fn memories(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>, as_of: Timestamp) -> Result<Vec<Memory>> {
    let scoped = |scope, id: &str| MemoryPlace { scope, scope_id: id.to_owned() };
    let places = [
        task.map(|task| scoped(Scope::Task, task.id.as_str())),
        place.project.map(|project| scoped(Scope::Project, project)),
        Some(scoped(Scope::Agent, place.agent.as_str())),
        Some(MemoryPlace::global()),
    ];
    let mut memories = Vec::new();
    for place in places.iter().flatten() {
        memories.extend(tx.memories(place, as_of, MEMORIES)?);
    }
    Ok(memories)
}

fn task_events(tx: &Tx<'_>, task: Option<&Task>) -> Result<Vec<EventView>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let filter = EventFilter { task_id: Some(task.id.to_string()), limit: EVENTS, ..EventFilter::default() };
    Ok(tx.events(&filter)?.iter().map(event::view).collect())
}

fn prompts(tx: &Tx<'_>, project: Option<&str>) -> Result<Vec<EventView>> {
    let Some(project) = project else { return Ok(Vec::new()) };
    let newest = tx.newest_in_project(project, PROJECT_EVENTS)?;
    Ok(newest.iter().filter(|event| event.record.kind == USER_PROMPT).map(event::view).collect())
}

fn artifacts(tx: &Tx<'_>, task: Option<&Task>) -> Result<Vec<ArtifactView>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    Ok(tx.artifacts(&task.id, ARTIFACTS)?.iter().map(ArtifactView::from).collect())
}

/// What comes after the task.
fn pipeline(tx: &Tx<'_>, project: Option<&str>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let filter = TaskFilter {
        statuses: vec![Status::Todo],
        project_id: project.map(str::to_owned),
        priority: None,
        limit: TASKS + 1,
    };
    let pending = tx.tasks(&filter)?;
    let others = pending.iter().filter(|other| task.is_none_or(|task| task.id != other.id));
    Ok(others.take(TASKS).map(TaskLine::from).collect())
}
