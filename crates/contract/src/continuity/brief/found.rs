//! What a brief says, found in the rows and events it is built from.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use super::situation::{FailedCheck, HeldTask, Situation};
use super::{EventView, MemoryView, commands};
use crate::continuity::reason;
use crate::domain::memory::{Memory, MemoryKind, Scope};
use crate::domain::reason::Reason;
use crate::domain::status::Status;
use crate::domain::task::Task;
use crate::domain::time::Timestamp;

/// Kinds of events in which an agent rejects an approach, and in which it explains its reasoning.
const REJECTED: &[&str] = &["rejected", "rejected_approach"];
pub(super) const REASONING: &str = "reasoning";
const NEXT_ACTION: &str = "next_action";
const EVENTS_MAX: usize = 20;
/// Of these events, so many at most, before what is left is filled up with what agents said.
const FAILURES_MAX: usize = 6;
const SUCCESSES_MAX: usize = 5;
const LAST_WORDS_MAX: usize = 2;
const CHECKPOINTS_MAX: usize = 1;
const TODOS_MAX: usize = 1;
const REASONING_MAX: usize = 10;
const FILES_MAX: usize = 50;
const MEMORIES_MAX: usize = 50;
/// Tools that write the file that they name.
const WRITING_TOOLS: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "patch"];

/// What was collected from events and rows.
pub(super) struct BriefMaterial {
    pub(super) memories: Vec<MemoryView>,
    /// Rules that hold for everyone who works on the task.
    pub(super) rules: Vec<MemoryView>,
    pub(super) events: Vec<EventView>,
    pub(super) reasoning: Vec<EventView>,
    pub(super) rejected: Vec<String>,
    /// What failed and how, without repetitions.
    pub(super) failures: Vec<String>,
    pub(super) last_words: Vec<String>,
    /// Each file once, with how often it was written.
    pub(super) files: Vec<(String, usize)>,
    pub(super) checks: Vec<String>,
    pub(super) blockers: Vec<String>,
    pub(super) next_action: String,
}

impl BriefMaterial {
    pub(super) fn in_situation(situation: &Situation<'_>, most: usize) -> Self {
        let said = || situation.history.said.iter();
        let rejected = said().filter(|event| REJECTED.contains(&event.kind.as_str()));
        let reasoning = said().filter(|event| event.kind == REASONING);
        let memories = ranked(&situation.memories, situation.as_of);
        let is_rule = |memory: &&MemoryView| memory.pinned || memory.kind == MemoryKind::Directive.as_str();
        BriefMaterial {
            rules: memories.iter().filter(is_rule).cloned().collect(),
            memories,
            reasoning: reasoning.take(REASONING_MAX).cloned().collect(),
            rejected: rejected.map(|event| event.message.clone()).collect(),
            failures: failures(&situation.history.failures),
            last_words: last_words(situation),
            files: touched_files(situation),
            checks: checks(situation),
            blockers: blockers(situation),
            next_action: next_action(situation, most),
            events: recent(situation),
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

/// The newest events of every sort, newest first. What a tool repeats appears once.
fn recent(situation: &Situation<'_>) -> Vec<EventView> {
    let history = &situation.history;
    let sorts = [
        (&history.checkpoints, CHECKPOINTS_MAX),
        (&history.last_words, LAST_WORDS_MAX),
        (&history.todos, TODOS_MAX),
        (&history.failures, FAILURES_MAX),
        (&history.successes, SUCCESSES_MAX),
    ];
    let repeated: Vec<&EventView> =
        sorts.iter().flat_map(|(events, most)| distinct(events).into_iter().take(*most)).collect();
    let said = history.said.iter().take(EVENTS_MAX - repeated.len());
    let mut events: Vec<EventView> = repeated.into_iter().chain(said).cloned().collect();
    events.sort_by_key(|event| Reverse(event.id));
    events
}

/// The first of each message.
fn distinct(events: &[EventView]) -> Vec<&EventView> {
    let mut seen = BTreeSet::new();
    events.iter().filter(|event| seen.insert(event.message.as_str())).collect()
}

/// `Bash failed (exit 1): cargo test (3 times): error: expected `;``
fn failures(events: &[EventView]) -> Vec<String> {
    let times = |message: &str| events.iter().filter(|event| event.message == message).count();
    let line = |event: &&EventView| {
        let times = match times(&event.message) {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let how = ["output", "error"].iter().find_map(|name| event.metadata.get(*name)?.as_str());
        let how = how.and_then(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
        let how = how.filter(|how| !event.message.contains(how.trim()));
        let how = how.map_or_else(String::new, |how| format!(": {}", how.trim()));
        format!("{}{times}{how}", event.message)
    };
    distinct(events).iter().map(line).collect()
}

/// What the agents before said last, and the newest checkpoint.
fn last_words(situation: &Situation<'_>) -> Vec<String> {
    let history = &situation.history;
    let said = distinct(&history.last_words).into_iter().take(LAST_WORDS_MAX);
    let checkpoint = history.checkpoints.iter().take(CHECKPOINTS_MAX);
    let left = history.todos.iter().take(TODOS_MAX);
    let line = |event: &EventView| format!("{}: {}", event.agent_name, event.message);
    said.chain(checkpoint).chain(left).map(line).collect()
}

/// Registered files first, then those that events name, each with how often it was written.
fn touched_files(situation: &Situation<'_>) -> Vec<(String, usize)> {
    let history = &situation.history;
    let mut files: Vec<(String, usize)> = Vec::new();
    let mut add = |path: &str, times: usize| match files.iter().position(|(known, _)| known == path) {
        Some(place) => files[place].1 += times,
        None if files.len() < FILES_MAX => files.push((path.to_owned(), times)),
        None => {}
    };
    for artifact in &situation.artifacts {
        add(&artifact.file_path, 0);
    }
    for event in history.said.iter().chain(&history.successes) {
        let one = event.metadata.get("file_path").and_then(Value::as_str).or_else(|| written_by(event));
        let many = event.metadata.get("files").and_then(Value::as_array).into_iter().flatten();
        one.into_iter().chain(many.filter_map(Value::as_str)).for_each(|path| add(path, 1));
    }
    files
}

/// The file in the message of a tool that writes one: `Edit: src/parser.rs`.
fn written_by(event: &EventView) -> Option<&str> {
    let (tool, path) = event.message.split_once(": ")?;
    (event.kind == crate::continuity::substance::TOOL_SUCCESS && WRITING_TOOLS.contains(&tool))
        .then_some(path)
}

/// What must be true before the task is done.
fn checks(situation: &Situation<'_>) -> Vec<String> {
    let checks = situation.task.map(Task::checks).unwrap_or_default();
    checks.iter().map(|check| format!("{} ({})", check.command.join(" "), check.expects.as_str())).collect()
}

fn blockers(situation: &Situation<'_>) -> Vec<String> {
    let waits = situation.waits_for.iter().map(|task| format!("waits for {} ({})", task.title, task.id));
    let task = situation.task.filter(|task| !task.blocked_reason.as_ref().is_some_and(Reason::is_dependency));
    let reason = task.and_then(|task| reason::printed(task.status, task.blocked_reason.as_ref()));
    reason.into_iter().chain(waits).collect()
}

/// The next action that an agent recorded last, or one derived from the state of the task.
fn next_action(situation: &Situation<'_>, most: usize) -> String {
    let Some(task) = situation.task else {
        return without_task(situation, most);
    };
    let said = recorded_next(situation);
    let failed = situation.failed_check.as_ref().map(FailedCheck::summary);
    match (said, failed, task.status) {
        (Some(said), _, _) => said.to_owned(),
        (None, Some(failed), Status::Todo | Status::InProgress) => format!("make this check pass: {failed}"),
        (None, None, Status::Todo) => {
            let whole = format!("begin the task: {}", commands::begin(situation, task.id.as_str()));
            // Half a command is worse than none.
            if whole.len() <= most { whole } else { "begin the task".to_owned() }
        }
        (None, None, Status::InProgress) => format!("continue the task: {}", task.title),
        (None, _, Status::Blocked) => {
            "the task is blocked; resolve what blocks it or take another".to_owned()
        }
        (None, _, Status::Done | Status::Failed | Status::Canceled) => {
            "the task is closed; take another".to_owned()
        }
    }
}

/// The next action that an agent recorded last.
pub(super) fn recorded_next<'s>(situation: &'s Situation<'_>) -> Option<&'s str> {
    let history = &situation.history;
    let mut told: Vec<&EventView> =
        history.said.iter().chain(&history.checkpoints).chain(&history.last_words).collect();
    told.sort_by_key(|event| Reverse(event.id));
    told.into_iter().find_map(|event| {
        let named = ["next_action", "next_step"].iter().find_map(|name| event.metadata.get(*name)?.as_str());
        named.or_else(|| (event.kind == NEXT_ACTION).then_some(event.message.as_str()))
    })
}

/// No task is free: others may hold some.
fn without_task(situation: &Situation<'_>, most: usize) -> String {
    let in_progress = situation.counts.in_progress;
    match situation.held.as_slice() {
        [] if in_progress > 0 => {
            format!("no task is free, {in_progress} in progress in runs; ask for work or create a task")
        }
        [] => "no task is ready; ask for work or create a task".to_owned(),
        [held, ..] => {
            let HeldTask { id, agent, until, .. } = held;
            let whole = format!(
                "{id} is held by {agent}; take it when that claim ends (at {until}): {}",
                commands::begin(situation, id)
            );
            let short = format!("{id} is held by {agent} until {until}; ask for other work");
            if whole.len() <= most { whole } else { short }
        }
    }
}
