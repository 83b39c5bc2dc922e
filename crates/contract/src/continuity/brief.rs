//! The brief of an agent that resumes: built from the store alone, within a budget of tokens, the same bytes for
//! the same state and the same moment.

mod commands;
pub(crate) mod fit;
mod prompt;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{ArtifactView, EventView, MemoryView, TaskView};
use crate::digest;
use crate::domain::limits;
use crate::domain::memory::{Memory, Scope};
use crate::domain::status::Status;
use crate::domain::task::Task;
use crate::domain::time::Timestamp;
use fit::{Group, choose, clip};

/// Bytes that are counted as one token.
pub(crate) const TOKEN_BYTES: usize = 4;
/// The largest share of the budget that one item may take.
const PARTS: usize = 12;
/// Kinds of events in which an agent rejects an approach, and in which it explains its reasoning.
const REJECTED: &[&str] = &["rejected", "rejected_approach"];
const REASONING: &str = "reasoning";
const NEXT_ACTION: &str = "next_action";
const PIPELINE_MAX: usize = 5;
const EVENTS_MAX: usize = 20;
const REASONING_MAX: usize = 10;
const FILES_MAX: usize = 50;
const MEMORIES_MAX: usize = 50;
const DEPENDENCIES_MAX: usize = 10;

/// Everything the brief is built from. The lists are ordered by importance.
#[derive(Debug, Clone)]
pub struct Situation<'s> {
    /// What printed commands begin with, as a shell reads it.
    pub program: &'s str,
    pub agent: &'s str,
    pub as_of: Timestamp,
    pub project_id: Option<&'s str>,
    /// The project; `None` if no agent has worked there.
    pub project: Option<ProjectView>,
    pub task: Option<&'s Task>,
    /// Dependencies of the task that are not done.
    pub waits_for: Vec<TaskLine>,
    pub memories: Vec<Memory>,
    /// The newest events of the task, newest first.
    pub events: Vec<EventView>,
    /// What users asked for in the project, newest first.
    pub prompts: Vec<EventView>,
    pub artifacts: Vec<ArtifactView>,
    pub counts: Counts,
    /// Tasks that can be started next.
    pub pipeline: Vec<TaskLine>,
    /// Tasks that wait for this one.
    pub unlocks: Vec<TaskLine>,
    /// Tasks of the project that were done last.
    pub finished: Vec<TaskLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    pub id: String,
    pub name: String,
    pub metadata: String,
    pub created_at: String,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLine {
    pub id: String,
    pub title: String,
    pub priority: i64,
}

impl From<&Task> for TaskLine {
    fn from(task: &Task) -> Self {
        TaskLine { id: task.id.to_string(), title: task.title.clone(), priority: task.priority }
    }
}

/// How many tasks there are, in the agent contract's states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub pending: i64,
    pub in_progress: i64,
    pub completed: i64,
    pub blocked: i64,
}

impl Counts {
    pub fn add(&mut self, status: Status, tasks: i64) {
        match status {
            Status::Todo => self.pending += tasks,
            Status::InProgress => self.in_progress += tasks,
            Status::Done => self.completed += tasks,
            Status::Blocked | Status::Failed | Status::Canceled => self.blocked += tasks,
        }
    }
}

/// The agent contract's brief, then our own fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub task: Option<TaskView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectView>,
    pub relevant_memory: Vec<MemoryView>,
    // Answers of earlier versions have null for none.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub recent_events: Vec<EventView>,
    pub artifacts: Vec<ArtifactView>,
    pub prior_reasoning: Vec<EventView>,
    pub approx_tokens: usize,
    pub counts: Counts,
    pub pipeline: Vec<TaskLine>,
    pub unlocks: Vec<TaskLine>,
    pub done: Vec<TaskLine>,
    pub next_action: String,
    pub rejected: Vec<String>,
    pub touched_files: Vec<String>,
    pub blockers: Vec<String>,
    pub budget_tokens: usize,
    /// How many items did not fit.
    pub omitted: usize,
}

fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EventView>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    pub brief: Brief,
    pub prompt: String,
    /// Over both.
    pub digest: String,
}

/// Builds the brief and the prompt, each with at most `budget` tokens.
pub fn compose(situation: &Situation<'_>, budget: usize) -> Composed {
    let budget = budget.clamp(limits::BRIEF_TOKENS_MIN, limits::BRIEF_TOKENS_MAX);
    let found = Found::in_situation(situation, budget * TOKEN_BYTES / PARTS);
    let brief = brief(situation, &found, budget);
    let prompt = prompt::render(situation, &found, budget * TOKEN_BYTES);
    let both = digest::of_value(&(&brief, &prompt)).unwrap_or_else(|_| digest::of_bytes(prompt.as_bytes()));
    Composed { brief, prompt, digest: both }
}

/// What was collected from events and rows.
struct Found {
    memories: Vec<MemoryView>,
    events: Vec<EventView>,
    reasoning: Vec<EventView>,
    rejected: Vec<String>,
    files: Vec<String>,
    blockers: Vec<String>,
    next_action: String,
}

impl Found {
    fn in_situation(situation: &Situation<'_>, most: usize) -> Self {
        let events = || situation.events.iter();
        let rejected = events().filter(|event| REJECTED.contains(&event.kind.as_str()));
        let reasoning = events().filter(|event| event.kind == REASONING);
        Found {
            memories: ranked(&situation.memories, situation.as_of),
            reasoning: reasoning.take(REASONING_MAX).cloned().collect(),
            rejected: rejected.map(|event| event.message.clone()).collect(),
            files: touched_files(situation),
            blockers: blockers(situation),
            next_action: next_action(situation, most),
            events: events().take(EVENTS_MAX).cloned().collect(),
        }
    }
}

/// Pinned memories first, then by relevance; those of the task before global ones.
fn ranked(memories: &[Memory], at: Timestamp) -> Vec<MemoryView> {
    let mut alive: Vec<&Memory> = memories.iter().filter(|memory| !memory.is_expired(at)).collect();
    let nearness = |memory: &Memory| match memory.written.place.scope {
        Scope::Task => 0,
        Scope::Project => 1,
        Scope::Agent => 2,
        Scope::Global => 3,
    };
    alive.sort_by(|a, b| {
        let by_pin = b.written.pinned.cmp(&a.written.pinned);
        let by_relevance = b.relevance(at).total_cmp(&a.relevance(at));
        let by_nearness = nearness(a).cmp(&nearness(b));
        by_pin.then(by_relevance).then(by_nearness).then(b.written.id.cmp(&a.written.id))
    });
    alive.into_iter().take(MEMORIES_MAX).map(|memory| MemoryView::at(memory, at)).collect()
}

/// Registered files first, then those that events name.
fn touched_files(situation: &Situation<'_>) -> Vec<String> {
    let registered = situation.artifacts.iter().map(|artifact| artifact.file_path.as_str());
    let named = situation.events.iter().flat_map(|event| {
        let one = event.metadata.get("file_path").into_iter();
        let many = event.metadata.get("files").and_then(Value::as_array).into_iter().flatten();
        one.chain(many).filter_map(Value::as_str)
    });
    let mut seen = BTreeSet::new();
    registered.chain(named).filter(|path| seen.insert(*path)).take(FILES_MAX).map(str::to_owned).collect()
}

fn blockers(situation: &Situation<'_>) -> Vec<String> {
    let waits = situation.waits_for.iter().map(|task| format!("waits for {} ({})", task.title, task.id));
    let reason = situation.task.and_then(Task::continuity_reason).filter(|reason| reason != "dependency");
    reason.into_iter().chain(waits).collect()
}

/// The next action that an agent recorded last, or one derived from the state of the task.
fn next_action(situation: &Situation<'_>, most: usize) -> String {
    let Some(task) = situation.task else {
        return "no task is ready; ask for work or create a task".to_owned();
    };
    let said = situation.events.iter().find_map(|event| {
        let named = ["next_action", "next_step"].iter().find_map(|name| event.metadata.get(*name)?.as_str());
        named.or_else(|| (event.kind == NEXT_ACTION).then_some(event.message.as_str()))
    });
    match (said, task.status) {
        (Some(said), _) => said.to_owned(),
        (None, Status::Todo) => {
            let whole = format!("begin the task: {}", commands::begin(situation, &task.id));
            // Half a command is worse than none.
            if whole.len() <= most { whole } else { "begin the task".to_owned() }
        }
        (None, Status::InProgress) => format!("continue the task: {}", task.title),
        (None, Status::Blocked) => "the task is blocked; resolve what blocks it or take another".to_owned(),
        (None, Status::Done | Status::Failed | Status::Canceled) => {
            "the task is closed; take another".to_owned()
        }
    }
}

fn brief(situation: &Situation<'_>, found: &Found, budget: usize) -> Brief {
    let room = budget * TOKEN_BYTES;
    let most = room / PARTS;
    // The name appears with every item of a project, so it gets less space.
    let name = |name: &str| clipped(name, most / 2);
    let event = |event: &EventView| {
        let too_long = event.metadata.to_string().len() > most;
        let metadata = if too_long { Value::Null } else { event.metadata.clone() };
        let project_id = event.project_id.as_deref().map(name);
        EventView { message: clipped(&event.message, most), metadata, project_id, ..event.clone() }
    };
    let memory = |memory: &MemoryView| MemoryView {
        value: clipped(&memory.value, most),
        scope_id: name(&memory.scope_id),
        ..memory.clone()
    };
    let texts = |texts: &[String]| texts.iter().map(|text| clipped(text, most)).collect::<Vec<String>>();
    let (rejected, files, blockers) = (texts(&found.rejected), texts(&found.files), texts(&found.blockers));
    let events: Vec<EventView> = found.events.iter().map(event).collect();
    let reasoning: Vec<EventView> = found.reasoning.iter().map(event).collect();
    let memories: Vec<MemoryView> = found.memories.iter().map(memory).collect();
    let pipeline = &situation.pipeline[..situation.pipeline.len().min(PIPELINE_MAX)];
    let groups = [
        group(3, &blockers),
        group(6, &memories),
        group(3, &rejected),
        group(3, &events),
        group(2, pipeline),
        group(2, &situation.finished),
        group(2, &files),
        group(2, &reasoning),
        group(2, &situation.artifacts),
        group(1, &situation.unlocks),
    ];
    let frame = fitting_frame(situation, &found.next_action, budget);
    let chosen = choose(&groups, room.saturating_sub(bytes(&frame)));
    let mut brief = Brief {
        blockers: kept(&blockers, &chosen[0]),
        relevant_memory: kept(&memories, &chosen[1]),
        rejected: kept(&rejected, &chosen[2]),
        recent_events: kept(&events, &chosen[3]),
        pipeline: kept(pipeline, &chosen[4]),
        done: kept(&situation.finished, &chosen[5]),
        touched_files: kept(&files, &chosen[6]),
        prior_reasoning: kept(&reasoning, &chosen[7]),
        artifacts: kept(&situation.artifacts, &chosen[8]),
        unlocks: kept(&situation.unlocks, &chosen[9]),
        omitted: chosen.iter().flatten().filter(|taken| !**taken).count(),
        ..frame
    };
    brief.approx_tokens = bytes(&brief).div_ceil(TOKEN_BYTES);
    brief
}

/// The brief without its lists, with its texts shortened to leave room for them.
fn fitting_frame(situation: &Situation<'_>, next_action: &str, budget: usize) -> Brief {
    let room = budget * TOKEN_BYTES;
    let mut most = room / PARTS;
    loop {
        let frame = frame(situation, next_action, budget, most);
        if bytes(&frame) <= room * 3 / 4 || most == 0 {
            return frame;
        }
        most /= 2;
    }
}

fn frame(situation: &Situation<'_>, next_action: &str, budget: usize, most: usize) -> Brief {
    let task = situation.task.map(|task| {
        let mut view = TaskView::from(task);
        view.depends_on.truncate(DEPENDENCIES_MAX);
        TaskView {
            title: clipped(&view.title, most),
            description: clipped(&view.description, most),
            blocked_reason: view.blocked_reason.as_deref().map(|reason| clipped(reason, most)),
            project_id: view.project_id.as_deref().map(|id| clipped(id, most)),
            ..view
        }
    });
    let project = situation.project.as_ref().map(|project| ProjectView {
        id: clipped(&project.id, most),
        name: clipped(&project.name, most),
        metadata: clipped(&project.metadata, most),
        created_at: project.created_at.clone(),
    });
    Brief {
        task,
        project,
        relevant_memory: Vec::new(),
        recent_events: Vec::new(),
        artifacts: Vec::new(),
        prior_reasoning: Vec::new(),
        approx_tokens: budget,
        counts: situation.counts,
        pipeline: Vec::new(),
        unlocks: Vec::new(),
        done: Vec::new(),
        next_action: clipped(next_action, most),
        rejected: Vec::new(),
        touched_files: Vec::new(),
        blockers: Vec::new(),
        budget_tokens: budget,
        // Reserve the largest number of digits.
        omitted: 9999,
    }
}

fn clipped(text: &str, most: usize) -> String {
    let short = clip(text, most);
    // Characters that JSON has to escape take up to six times their size.
    if bytes(&short) > 2 * most { clip(text, most / 6).into_owned() } else { short.into_owned() }
}

fn group<T: Serialize>(weight: usize, things: &[T]) -> Group {
    // A comma between two items.
    Group { weight, title: 2, sizes: things.iter().map(|thing| bytes(thing) + 1).collect() }
}

fn kept<T: Clone>(things: &[T], chosen: &[bool]) -> Vec<T> {
    things.iter().zip(chosen).filter(|(_, taken)| **taken).map(|(thing, _)| thing.clone()).collect()
}

fn bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests;
