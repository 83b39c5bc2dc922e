//! The brief as text for a model. What agents and users wrote is fenced and labeled as data.

use super::fit::{BriefGroup, choose, clip, one_line};
use super::found::{BriefMaterial, REASONING};
use super::situation::{HeldTask, Situation, TaskLine};
use super::{PARTS, clipped_check, commands};
use crate::continuity::substance::{REPEATED, TOOL_SUCCESS};
use crate::continuity::{EventView, MemoryView};
use crate::fence;

const PROMPTS_MAX: usize = 5;
const RECORDED_BY: &str = "agents and users";
/// The longest name or title.
const NAME_BYTES: usize = 160;

pub(super) struct PromptSection {
    title: String,
    weight: usize,
    lines: Vec<String>,
}

/// A prompt before it is cut to its space.
pub(super) struct PromptText<S> {
    pub(super) head: String,
    pub(super) about: String,
    pub(super) sections: S,
    pub(super) commands: String,
}

impl<S: IntoIterator<Item = PromptSection>> PromptText<S> {
    /// As much of the sections as fits into so many bytes.
    pub(super) fn fit(self, room: usize) -> String {
        let PromptText { head, about, sections, commands } = self;
        let sections: Vec<PromptSection> = sections.into_iter().collect();
        // Everything that is always printed, with the lines of the fence.
        let fixed = head.len() + about.len() + commands.len() + fence::room(RECORDED_BY);
        let groups: Vec<BriefGroup> = sections
            .iter()
            .map(|section| BriefGroup {
                weight: section.weight,
                title: section.title.len() + 1,
                sizes: section.lines.iter().map(|line| line.len() + 1).collect(),
            })
            .collect();
        let chosen = choose(&groups, room.saturating_sub(fixed));
        let mut data = about;
        for (section, taken) in sections.iter().zip(&chosen).filter(|(_, taken)| taken.contains(&true)) {
            data.push_str(&section.title);
            data.push('\n');
            for (line, _) in section.lines.iter().zip(taken).filter(|(_, taken)| **taken) {
                data.push_str(line);
                data.push('\n');
            }
        }
        format!("{head}{}{commands}", fence::fenced(RECORDED_BY, &data))
    }
}

pub(super) fn render(situation: &Situation<'_>, found: &BriefMaterial, room: usize) -> String {
    let most = room / PARTS;
    let text = PromptText {
        head: head(situation),
        about: about(situation, found, most),
        sections: sections(situation, found, most),
        commands: commands::section(situation, room),
    };
    text.fit(room)
}

fn named(text: &str) -> String {
    clip(&one_line(text), NAME_BYTES).into_owned()
}

pub(super) fn head(situation: &Situation<'_>) -> String {
    let project = situation.project_id.map_or_else(String::new, |id| format!(" · project {}", named(id)));
    format!(
        "== where the work stands ==\nagent {}{project} · as of {}\n",
        named(situation.agent),
        situation.as_of
    )
}

/// The task and the next step.
pub(super) fn about(situation: &Situation<'_>, found: &BriefMaterial, most: usize) -> String {
    let next = clip(&one_line(&found.next_action), most).into_owned();
    let Some(task) = situation.task else {
        return format!("TASK none\nNEXT {next}\n");
    };
    let mut text = format!("TASK {} [{}] {}\n", task.id, task.status.continuity(), named(&task.title));
    let description = one_line(&task.description);
    if !description.is_empty() {
        text.push_str(&format!("  {}\n", clip(&description, most)));
    }
    text.push_str(&format!("NEXT {next}\n"));
    text
}

pub(super) fn section(weight: usize, title: &str, lines: Vec<String>, most: usize) -> PromptSection {
    let line = |text: String| format!("- {}", clip(&one_line(&text), most));
    PromptSection { title: title.to_owned(), weight, lines: lines.into_iter().map(line).collect() }
}

fn sections(situation: &Situation<'_>, found: &BriefMaterial, most: usize) -> Vec<PromptSection> {
    let counts = situation.counts;
    let remaining = format!(
        "REMAINING ({} pending, {} in progress, {} blocked, {} completed)",
        counts.pending, counts.in_progress, counts.blocked, counts.completed
    );
    let task = |task: &TaskLine| format!("{} [{}] {}", task.id, task.priority, task.title);
    let done = |done: &TaskLine| format!("{} {}", done.id, done.title);
    let messages = |events: &[EventView]| events.iter().map(|event| event.message.clone()).collect();
    let prompts = &situation.history.prompts;
    let parts = [
        (3, "BLOCKED BY", found.blockers.clone()),
        (3, "DONE WHEN THESE CHECKS PASS", found.checks.clone()),
        (4, "LAST FAILED CHECK", failed_check(situation, most)),
        (4, "LAST WORDS", found.last_words.clone()),
        (4, "FAILED", found.failures.clone()),
        (4, "NOTES", notes(found)),
        (5, "MEMORY", found.memories.iter().map(memory).collect()),
        (3, "REJECTED, do not try again", found.rejected.clone()),
        (2, "FILES TOUCHED", found.files.iter().map(file).collect()),
        (2, "EARLIER REASONING", messages(&found.reasoning)),
        (3, "HELD BY OTHERS", situation.held.iter().map(|held| held_line(situation, held, most)).collect()),
        (1, "TRIED", tried(found)),
        (2, "DONE", situation.finished.iter().map(done).collect()),
        (2, &remaining, situation.pipeline.iter().map(task).collect()),
        (1, "ASKED BY THE USER", messages(&prompts[..prompts.len().min(PROMPTS_MAX)])),
        (1, "WAITING FOR THIS TASK", situation.unlocks.iter().map(task).collect()),
    ];
    parts.into_iter().map(|(weight, title, lines)| section(weight, title, lines, most)).collect()
}

/// What agents recorded. What has a section of its own is not repeated.
fn notes(found: &BriefMaterial) -> Vec<String> {
    let elsewhere = |event: &&EventView| {
        REPEATED.contains(&event.kind.as_str())
            || event.kind == REASONING
            || found.rejected.contains(&event.message)
    };
    let line = |event: &EventView| format!("{} {}: {}", event.created_at, event.kind, event.message);
    found.events.iter().filter(|event| !elsewhere(event)).map(line).collect()
}

/// Commands that worked. Files that were written are in a section of their own.
fn tried(found: &BriefMaterial) -> Vec<String> {
    let is_command = |event: &&EventView| {
        let wrote = found.files.iter().any(|(path, _)| event.message.ends_with(path.as_str()));
        event.kind == TOOL_SUCCESS && !wrote
    };
    found.events.iter().filter(is_command).map(|event| event.message.clone()).collect()
}

fn file((path, times): &(String, usize)) -> String {
    match times {
        0 | 1 => path.clone(),
        times => format!("{path} ({times} times)"),
    }
}

pub(super) fn failed_check(situation: &Situation<'_>, most: usize) -> Vec<String> {
    let Some(check) = &situation.failed_check else { return Vec::new() };
    let check = clipped_check(check, most);
    let output = check.output.iter().map(|line| format!("| {line}"));
    std::iter::once(check.summary()).chain(output).collect()
}

fn held_line(situation: &Situation<'_>, held: &HeldTask, most: usize) -> String {
    let HeldTask { id, title, status, agent, program, is_alive, since, until } = held;
    let program = program.as_ref().map_or_else(String::new, |program| format!(" ({program})"));
    let state = format!("{id} [{status}] {title}: {agent}{program} since {since}");
    if *is_alive {
        return format!("{state}, at work now; leave it to that agent");
    }
    let begin = commands::begin(situation, id);
    let whole = format!("{state}, until {until} unless renewed; afterwards `{begin}`");
    // Half a command is worse than none.
    if whole.len() + 2 <= most { whole } else { format!("{state}, until {until} unless renewed") }
}

pub(super) fn memory(memory: &MemoryView) -> String {
    let kind = if memory.kind == "fact" { String::new() } else { format!(" {}", memory.kind) };
    let pinned = if memory.pinned { " pinned" } else { "" };
    format!("[{}{kind}{pinned}] {} = {}", memory.scope, memory.key, memory.value)
}
