//! The brief of an agent that resumes: built from the store alone, within a budget of tokens, the same bytes for
//! the same state and the same moment.

mod checkpoint;
mod commands;
pub(crate) mod fit;
mod found;
mod prompt;
mod short;
mod situation;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{ArtifactView, EventView, MemoryView, TaskView};
use crate::digest;
use crate::domain::limits;
pub use checkpoint::{CheckpointEvent, checkpoint};
use fit::{BriefGroup, choose, clip};
use found::BriefMaterial;
pub use short::short;
pub use situation::{
    FailedCheck, HeldTask, History, ProgramCommand, ProgramName, ProjectView, Situation, TaskCounts, TaskLine,
};

/// Bytes that are counted as one token.
pub(crate) const TOKEN_BYTES: usize = 4;
/// The largest share of the budget that one item may take.
const PARTS: usize = 12;
const PIPELINE_MAX: usize = 5;
const DEPENDENCIES_MAX: usize = 10;

/// The agent contract's brief, then our own fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub task: Option<TaskView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectView>,
    pub relevant_memory: Vec<MemoryView>,
    /// What agents did and said, without bookkeeping. Older answers have null where it is empty.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub recent_events: Vec<EventView>,
    pub artifacts: Vec<ArtifactView>,
    pub prior_reasoning: Vec<EventView>,
    pub approx_tokens: usize,
    pub counts: TaskCounts,
    pub pipeline: Vec<TaskLine>,
    pub unlocks: Vec<TaskLine>,
    pub done: Vec<TaskLine>,
    pub next_action: String,
    pub rejected: Vec<String>,
    pub touched_files: Vec<String>,
    pub blockers: Vec<String>,
    // The fields from here on are left out where they are empty: answers of earlier versions are replayed unchanged.
    /// What failed and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What the agents before said last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
    /// What must be true before the task is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<FailedCheck>,
    /// Tasks that other agents hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldTask>,
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
    let found = BriefMaterial::in_situation(situation, budget * TOKEN_BYTES / PARTS);
    let brief = brief(situation, &found, budget);
    let prompt = prompt::render(situation, &found, budget * TOKEN_BYTES);
    let both = digest::of_value(&(&brief, &prompt)).unwrap_or_else(|_| digest::of_bytes(prompt.as_bytes()));
    Composed { brief, prompt, digest: both }
}

fn brief(situation: &Situation<'_>, found: &BriefMaterial, budget: usize) -> Brief {
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
    let files: Vec<String> = found.files.iter().map(|(path, _)| path.clone()).collect();
    let (rejected, files, blockers) = (texts(&found.rejected), texts(&files), texts(&found.blockers));
    let (failures, words, checks) = (texts(&found.failures), texts(&found.last_words), texts(&found.checks));
    let held: Vec<HeldTask> = situation.held.iter().map(|held| clipped_task(held, most)).collect();
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
        named_group(3, "failures", &failures),
        named_group(2, "last_words", &words),
        named_group(2, "checks", &checks),
        named_group(2, "held", &held),
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
        failures: kept(&failures, &chosen[10]),
        last_words: kept(&words, &chosen[11]),
        checks: kept(&checks, &chosen[12]),
        held: kept(&held, &chosen[13]),
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
        failures: Vec::new(),
        last_words: Vec::new(),
        checks: Vec::new(),
        failed_check: situation.failed_check.as_ref().map(|check| clipped_check(check, most)),
        held: Vec::new(),
        budget_tokens: budget,
        // Reserve the largest number of digits.
        omitted: 9999,
    }
}

fn clipped_task(held: &HeldTask, most: usize) -> HeldTask {
    HeldTask { title: clipped(&held.title, most), agent: clipped(&held.agent, most), ..held.clone() }
}

/// The end of the output matters most.
fn clipped_check(check: &FailedCheck, most: usize) -> FailedCheck {
    let mut room = most;
    let fits = |line: &&String| {
        let fits = bytes(line) <= room;
        room = room.saturating_sub(bytes(line));
        fits
    };
    let mut output: Vec<String> = check.output.iter().rev().take_while(fits).cloned().collect();
    output.reverse();
    FailedCheck {
        command: clipped(&check.command, most),
        exit_code: check.exit_code,
        problem: check.problem.as_deref().map(|problem| clipped(problem, most)),
        output,
    }
}

fn clipped(text: &str, most: usize) -> String {
    let short = clip(text, most);
    // Characters that JSON has to escape take up to six times their size.
    if bytes(&short) > 2 * most { clip(text, most / 6).into_owned() } else { short.into_owned() }
}

fn group<T: Serialize>(weight: usize, things: &[T]) -> BriefGroup {
    // A comma between two items.
    BriefGroup { weight, title: 2, sizes: things.iter().map(|thing| bytes(thing) + 1).collect() }
}

/// The same for a field that is left out where it is empty: its name comes with the first item.
fn named_group<T: Serialize>(weight: usize, name: &str, things: &[T]) -> BriefGroup {
    BriefGroup { title: name.len() + r#""":[],"#.len(), ..group(weight, things) }
}

fn kept<T: Clone>(things: &[T], chosen: &[bool]) -> Vec<T> {
    things.iter().zip(chosen).filter(|(_, taken)| **taken).map(|(thing, _)| thing.clone()).collect()
}

fn bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests;
