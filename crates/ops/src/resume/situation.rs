//! Gathering what the brief is made of. Every look is bounded.

mod tasks;

use contract::continuity::brief::{FailedCheck, History, ProgramCommand, ProjectView, Situation, TaskLine};
use contract::continuity::substance::{
    CHECKPOINT, LAST_WORDS, TODO_SNAPSHOT, TOOL_FAILURE, TOOL_SUCCESS, USER_PROMPT,
};
use contract::continuity::{ArtifactView, EventView};
use contract::domain::memory::{Memory, MemoryScope as MemoryPlace, Scope};
use contract::domain::request::Agent;
use contract::domain::task::Task;
use contract::domain::time::{Now, Timestamp};
use store::{EventScope, LoggedEvent, Tx};

use crate::error::Result;
use crate::event;
use crate::host::HostView;
use tasks::{counts, finished, held, pipeline, unlocks, waits_for};

/// The newest events of a task in which to look for what an agent said.
const SAID: usize = 200;
/// The newest events of the project that belong to no task.
const SAID_OF_PROJECT: usize = 20;
/// Tools are used often, and the same ones again and again.
const FAILURES: usize = 50;
const SUCCESSES: usize = 200;
/// Of what is written once a turn or once a session, the newest is enough.
const NEWEST: usize = 3;
const PROMPTS: usize = 5;
/// Memories of each scope; the best of all of them are shown.
const MEMORIES: usize = 200;
const ARTIFACTS: usize = 50;

/// Who looks, and where.
pub(crate) struct Viewpoint<'p> {
    pub(crate) agent: &'p Agent,
    pub(crate) project: Option<&'p str>,
    pub(crate) program: &'p ProgramCommand,
    pub(crate) now: &'p Now,
    /// The moment to look back from; what was written later is not seen.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) extent: SituationExtent,
}

/// How much of the project is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SituationExtent {
    Project,
    /// One task and no other.
    TaskOnly,
}

impl Viewpoint<'_> {
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

    fn views<'e>(&self, events: impl IntoIterator<Item = &'e LoggedEvent>) -> Vec<EventView> {
        let seen = |event: &&LoggedEvent| self.sees(Timestamp::from_millis(event.record.at));
        events.into_iter().filter(seen).map(event::view).collect()
    }
}

pub(crate) fn gather<'s>(
    (tx, view): (&Tx<'_>, &HostView),
    place: &Viewpoint<'s>,
    task: Option<&'s Task>,
) -> Result<Situation<'s>> {
    let mut situation = Situation {
        program: place.program,
        agent: place.agent.as_str(),
        as_of: place.at(),
        project_id: place.project,
        project: project(tx, place)?,
        task,
        waits_for: waits_for(tx, place, task)?,
        memories: memories(tx, place, task)?,
        history: history(tx, place, task)?,
        artifacts: artifacts(tx, place, task)?,
        failed_check: failed_check(tx, task)?,
        counts: counts(tx, place)?,
        pipeline: Vec::new(),
        unlocks: Vec::new(),
        finished: Vec::new(),
        held: Vec::new(),
    };
    match place.extent {
        SituationExtent::TaskOnly => {}
        SituationExtent::Project => {
            situation.pipeline = pipeline(tx, place, task)?;
            situation.unlocks = unlocks(tx, place, task)?;
            situation.finished = finished(tx, place)?;
            situation.held = held((tx, view), place, task)?;
        }
    }
    Ok(situation)
}

/// The state of the project. A new project has only its name.
fn project(tx: &Tx<'_>, place: &Viewpoint<'_>) -> Result<Option<ProjectView>> {
    let Some(id) = place.project else { return Ok(None) };
    let known = tx.project_row(id)?.filter(|known| place.sees(known.created_at));
    Ok(known.map(|known| ProjectView {
        id: known.id,
        name: known.name,
        metadata: known.metadata,
        created_at: known.created_at.to_string(),
    }))
}

/// Of the task, of the project, of the agent and of everyone.
fn memories(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<Vec<Memory>> {
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

/// What happened in the task, and what agents said about the project alone. Without a task, what happened last in the
/// project: its sessions may have had none.
fn history(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<History> {
    let of_project = place.project.map(EventScope::Project);
    let Some(scope) = task.map(|task| EventScope::Task(&task.id)).or(of_project) else {
        return Ok(History::default());
    };
    let of_kind = |kind, most| Ok::<_, crate::Error>(place.views(&tx.repeated(scope, kind, most)?));
    let prompts = of_project.map(|scope| tx.repeated(scope, USER_PROMPT, PROMPTS)).transpose()?;
    let mut said = tx.said(scope, SAID)?;
    if let (Some(_), Some(project), SituationExtent::Project) = (task, place.project, place.extent) {
        said.extend(tx.said(EventScope::ProjectAlone(project), SAID_OF_PROJECT)?);
        said.sort_by_key(|event| std::cmp::Reverse(event.id));
    }
    Ok(History {
        said: place.views(&said),
        failures: of_kind(TOOL_FAILURE, FAILURES)?,
        successes: of_kind(TOOL_SUCCESS, SUCCESSES)?,
        last_words: of_kind(LAST_WORDS, NEWEST)?,
        checkpoints: of_kind(CHECKPOINT, NEWEST)?,
        todos: of_kind(TODO_SNAPSHOT, NEWEST)?,
        prompts: place.views(&prompts.unwrap_or_default()),
    })
}

/// The check that failed in the task's last attempt.
fn failed_check(tx: &Tx<'_>, task: Option<&Task>) -> Result<Option<FailedCheck>> {
    let Some(task) = task.filter(|task| task.part.is_some()) else { return Ok(None) };
    Ok(FailedCheck::last(&tx.attempts_of_task(&task.id)?))
}

fn artifacts(tx: &Tx<'_>, place: &Viewpoint<'_>, task: Option<&Task>) -> Result<Vec<ArtifactView>> {
    let Some(task) = task else { return Ok(Vec::new()) };
    let registered = tx.artifacts(&task.id, ARTIFACTS)?;
    let seen = registered.iter().filter(|artifact| place.sees(artifact.created_at));
    Ok(seen.map(ArtifactView::from).collect())
}
