//! What an agent is told between two turns: short, because it is paid for every time.

use contract::domain::request::Agent;
use contract::domain::status::Status;
use ops::resume::peek;
use ops::{Context, Result};

use crate::output::one_line;

/// The task the agent works on, in one line. Nothing where there is none.
pub(super) fn reminder(cx: &mut Context, agent: &Agent) -> Result<Option<String>> {
    let task = ops::agent::focus(cx, agent)?;
    let task = task.filter(|task| matches!(task.status, Status::Todo | Status::InProgress));
    Ok(task.map(|task| {
        let title: String = task.title.chars().take(200).collect();
        let (id, title) = (&task.id, one_line(&title));
        format!(
            "Your task in writ: {id} ({}) {title}. Close it there when it is done.",
            task.status.continuity()
        )
    }))
}

/// Where things stand, for a person who asked.
pub(super) fn brief(cx: &mut Context, agent: &Agent, project: Option<String>) -> Result<Option<String>> {
    let agent = agent.as_str().to_owned();
    let request = peek::Request { agent, project_dir: project, ..peek::Request::default() };
    let (peek::Answer { brief, .. }, _) = peek::look(cx, &request)?;
    let mut lines = Vec::new();
    match &brief.task {
        Some(task) => lines.push(format!("Task: {} ({}) {}", task.id, task.status, one_line(&task.title))),
        None => lines.push("Task: none".to_owned()),
    }
    let counts = &brief.counts;
    lines.push(format!(
        "Tasks: {} pending, {} in progress, {} completed, {} blocked",
        counts.pending, counts.in_progress, counts.completed, counts.blocked
    ));
    for next in &brief.pipeline {
        lines.push(format!("Next: {} {}", next.id, one_line(&next.title)));
    }
    for memory in brief.relevant_memory.iter().take(5) {
        let value: String = memory.value.chars().take(200).collect();
        lines.push(format!("Remembered: {} = {}", one_line(&memory.key), one_line(&value)));
    }
    Ok(Some(lines.join("\n")))
}
