//! The brief as text for a model. What agents and users wrote is fenced and labeled as data.

use super::fit::{Group, choose, clip, one_line};
use super::{Found, PARTS, Situation, TaskLine, commands};
use crate::continuity::{EventView, MemoryView};
use crate::fence;

const PROMPTS_MAX: usize = 5;
const RECORDED_BY: &str = "agents and users";
/// The longest name or title.
const NAME_BYTES: usize = 160;

struct Section {
    title: String,
    weight: usize,
    lines: Vec<String>,
}

pub(super) fn render(situation: &Situation<'_>, found: &Found, room: usize) -> String {
    let most = room / PARTS;
    let head = head(situation);
    let about = about(situation, found, most);
    let commands = commands::section(situation, room);
    let sections = sections(situation, found, most);
    // Everything that is always printed, with the lines of the fence.
    let fixed = head.len() + about.len() + commands.len() + fence::room(RECORDED_BY);
    let groups: Vec<Group> = sections
        .iter()
        .map(|section| Group {
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

fn named(text: &str) -> String {
    clip(&one_line(text), NAME_BYTES).into_owned()
}

fn head(situation: &Situation<'_>) -> String {
    let project = situation.project_id.map_or_else(String::new, |id| format!(" · project {}", named(id)));
    format!(
        "== where the work stands ==\nagent {}{project} · as of {}\n",
        named(situation.agent),
        situation.as_of
    )
}

/// The task and the next step.
fn about(situation: &Situation<'_>, found: &Found, most: usize) -> String {
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

fn sections(situation: &Situation<'_>, found: &Found, most: usize) -> Vec<Section> {
    let line = |text: String| format!("- {}", clip(&one_line(&text), most));
    let section = |weight, title: &str, lines: Vec<String>| Section {
        title: title.to_owned(),
        weight,
        lines: lines.into_iter().map(line).collect(),
    };
    let counts = situation.counts;
    let remaining = format!(
        "REMAINING ({} pending, {} in progress, {} blocked, {} completed)",
        counts.pending, counts.in_progress, counts.blocked, counts.completed
    );
    let task = |task: &TaskLine| format!("{} [{}] {}", task.id, task.priority, task.title);
    let event = |event: &EventView| format!("{} {}: {}", event.created_at, event.kind, event.message);
    vec![
        section(3, "BLOCKED BY", found.blockers.clone()),
        section(6, "MEMORY", found.memories.iter().map(memory).collect()),
        section(3, "REJECTED, do not try again", found.rejected.clone()),
        section(
            2,
            "DONE",
            situation.finished.iter().map(|done| format!("{} {}", done.id, done.title)).collect(),
        ),
        section(2, &remaining, situation.pipeline.iter().map(task).collect()),
        section(2, "FILES TOUCHED", found.files.clone()),
        section(3, "RECENT EVENTS", found.events.iter().map(event).collect()),
        section(2, "EARLIER REASONING", found.reasoning.iter().map(|e| e.message.clone()).collect()),
        section(
            1,
            "ASKED BY THE USER",
            situation.prompts.iter().take(PROMPTS_MAX).map(|e| e.message.clone()).collect(),
        ),
        section(1, "WAITING FOR THIS TASK", situation.unlocks.iter().map(task).collect()),
    ]
}

fn memory(memory: &MemoryView) -> String {
    let kind = if memory.kind == "fact" { String::new() } else { format!(" {}", memory.kind) };
    let pinned = if memory.pinned { " pinned" } else { "" };
    format!("[{}{kind}{pinned}] {} = {}", memory.scope, memory.key, memory.value)
}
