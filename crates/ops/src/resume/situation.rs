//! Gathering what the brief is made of. Every look is bounded.

use contract::continuity::brief::{Counts, ProjectView, Situation, TaskLine};
use contract::continuity::{ArtifactView, EventView};
use contract::domain::memory::{Memory, Place as MemoryPlace, Scope};
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::{Now, Timestamp};
use store::{Event, EventFilter, TakeableState, TaskSearch, Tx};

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
    pub(super) now: &'p Now,
    /// The moment to look back from; what was written later is not seen.
    pub(super) as_of: Option<Timestamp>,
}

impl Place<'_> {
    fn at(&self) -> Timestamp {
        self.as_of.unwrap_or(self.now.at)
    }

    /// Without a moment that was asked for everything is seen: a clock that was set back must hide nothing.
    fn sees(&self, at: Timestamp) -> bool {
        self.as_of.is_none_or(|as_of| at <= as_of)
    }

    fn lines<'t>(&self, tasks: impl IntoIterator<Item = &'t Task>) -> Vec<TaskLine> {
        tasks.into_iter().filter(|task| self.sees(task.created_at)).map(TaskLine::from).collect()
    }

    fn views<'e>(&self, events: impl IntoIterator<Item = &'e Event>) -> Vec<EventView> {
        let seen = |event: &&Event| self.sees(Timestamp::from_millis(event.record.at));
        events.into_iter().filter(seen).map(event::view).collect()
    }
}

pub(super) fn gather<'s>(tx: &Tx<'_>, place: &Place<'s>, task: Option<&'s Task>) -> Result<Situation<'s>> {
    let mut counts = Counts::default();
    let tallies = if place.project.is_some() { tx.task_tallies(place.project)? } else { tx.task_counts()? };
    tallies.into_iter().for_each(|(status, tasks)| counts.add(status, tasks));
    Ok(Situation {
        program: place.program,
        agent: place.agent.as_str(),
        as_of: place.at(),
        project_id: place.project,
        project: project(tx, place)?,
        task,
        waits_for: waits_for(tx, place, task)?,
        memories: memories(tx, place, task)?,
        events: task_events(tx, place, task)?,
        prompts: prompts(tx, place)?,
        artifacts: artifacts(tx, place, task)?,
        counts,
        pipeline: pipeline(tx, place, task)?,
        unlocks: unlocks(tx, place, task)?,
        finished: place.lines(
            tx.finished_tasks(place.project, TASKS)?.iter().filter(|task| place.sees(task.updated_at)),
        ),
    })
}

/// What is known of the project. One that nobody has been in has only its name.
fn project(tx: &Tx<'_>, place: &Place<'_>) -> Result<Option<ProjectView>> {
    let Some(id) = place.project else { return Ok(None) };
    let known = tx.project_row(id)?.filter(|known| place.sees(known.created_at));
    Ok(known.map(|known| ProjectView {
        id: known.id,
        name: known.name,
        metadata: known.metadata,
        created_at: known.created_at.to_string(),
    }))
}

/// Dependencies that are not done.
fn waits_for(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let mut waited = Vec::new();
    for id in task.into_iter().flat_map(|task| &task.depends_on) {
        waited.extend(tx.task(id)?.filter(|needed| needed.status != Status::Done));
        if waited.len() == NEIGHBOURS {
            break;
        }
    }
    Ok(place.lines(&waited))
}

fn unlocks(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let mut waiting = Vec::new();
    for id in tx.dependents(&task.id, NEIGHBOURS)? {
        waiting.extend(tx.task(&id)?);
    }
    Ok(place.lines(&waiting))
}

/// Of the task, of the project, of the agent and of everyone.
fn memories(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<Memory>> {
    let scoped = |scope, id: &str| MemoryPlace { scope, scope_id: id.to_owned() };
    let places = [
        task.map(|task| scoped(Scope::Task, task.id.as_str())),
        place.project.map(|project| scoped(Scope::Project, project)),
        Some(scoped(Scope::Agent, place.agent.as_str())),
        Some(MemoryPlace::global()),
    ];
    let mut memories = Vec::new();
    for scope in places.iter().flatten() {
        memories.extend(tx.memories(scope, place.at(), MEMORIES)?);
    }
    memories.retain(|memory| place.sees(memory.updated_at));
    Ok(memories)
}

fn task_events(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<EventView>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let filter = EventFilter { task_id: Some(task.id.to_string()), limit: EVENTS, ..EventFilter::default() };
    Ok(place.views(&tx.events(&filter)?))
}

fn prompts(tx: &Tx<'_>, place: &Place<'_>) -> Result<Vec<EventView>> {
    let Some(project) = place.project else { return Ok(Vec::new()) };
    let newest = tx.newest_in_project(project, PROJECT_EVENTS)?;
    Ok(place.views(newest.iter().filter(|event| event.record.kind == USER_PROMPT)))
}

fn artifacts(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<ArtifactView>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let registered = tx.artifacts(&task.id, ARTIFACTS)?;
    let seen = registered.iter().filter(|artifact| place.sees(artifact.created_at));
    Ok(seen.map(ArtifactView::from).collect())
}

/// What the agent could take after the task.
fn pipeline(tx: &Tx<'_>, place: &Place<'_>, task: Option<&Task>) -> Result<Vec<TaskLine>> {
    let search = TaskSearch { agent: place.agent.as_str(), project: place.project };
    let open = tx.takeable(TakeableState::Ready, search, place.now, TASKS + 1)?;
    let others = open.iter().filter(|other| task.is_none_or(|task| task.id != other.id));
    Ok(place.lines(others.take(TASKS)))
}
