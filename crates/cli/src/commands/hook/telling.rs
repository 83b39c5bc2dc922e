//! Messages to an agent between two turns: short, because each costs tokens.

use contract::domain::status::Status;
use contract::domain::task::Task;
use ops::resume::peek;
use ops::{Context, Error, Result, Session};

use crate::output::one_line;

const TITLE_CHARS_MAX: usize = 200;

/// The recipient.
pub(super) struct Recipient<'a> {
    pub(super) session: &'a Session,
    pub(super) project: &'a str,
    /// The task that writ started the session for.
    pub(super) only_task: Option<&'a str>,
}

impl Recipient<'_> {
    fn request(&self) -> peek::Request {
        peek::Request {
            agent: self.session.caller.agent.as_str().to_owned(),
            project_dir: Some(self.project.to_owned()),
            only_task: self.only_task.map(str::to_owned),
            ..peek::Request::default()
        }
    }
}

/// The message while writ is halted.
pub(super) fn halted(error: &Error) -> String {
    format!(
        "{}. Claims, locks and tokens from before the halt are void. Stop, and continue only after a person has run \
         `writ resume-all`.",
        one_line(&error.message)
    )
}

/// The task the agent works on, in one line. Nothing where there is none.
pub(super) fn reminder(cx: &mut Context, reader: &Recipient<'_>) -> Result<Option<String>> {
    if reader.only_task.is_some() {
        // The session has one task, which its brief named.
        return Ok(None);
    }
    let task = ops::agent::focus(cx, &reader.session.caller.agent)?;
    let is_open = |task: &Task| matches!(task.status, Status::Todo | Status::InProgress);
    Ok(task.filter(is_open).map(|task| {
        let title: String = task.title.chars().take(TITLE_CHARS_MAX).collect();
        let (id, title) = (&task.id, one_line(&title));
        let status = task.status.continuity();
        format!("Your task in writ: {id} ({status}) {title}. Close it there when it is done.")
    }))
}

/// What a subagent needs to know: its session's task, what failed, and how to report.
pub(super) fn subagent(cx: &mut Context, reader: &Recipient<'_>) -> Result<Option<String>> {
    let request = peek::Request { short: true, ..reader.request() };
    Ok(peek::look(cx, reader.session, &request)?.0.prompt.filter(|prompt| !prompt.is_empty()))
}

/// Where things stand, for a person who asked.
pub(super) fn brief(cx: &mut Context, reader: &Recipient<'_>) -> Result<Option<String>> {
    let (peek::Answer { brief, .. }, _) = peek::look(cx, reader.session, &reader.request())?;
    let mut lines = Vec::new();
    match &brief.task {
        Some(task) => lines.push(format!("Task: {} ({}) {}", task.id, task.status, one_line(&task.title))),
        None => lines.push("Task: none".to_owned()),
    }
    // A session that writ started has one task, and the others are not its business.
    if reader.only_task.is_none() {
        let counts = &brief.counts;
        lines.push(format!(
            "Tasks: {} pending, {} in progress, {} completed, {} blocked",
            counts.pending, counts.in_progress, counts.completed, counts.blocked
        ));
    }
    for next in &brief.pipeline {
        lines.push(format!("Next: {} {}", next.id, one_line(&next.title)));
    }
    for memory in brief.relevant_memory.iter().take(5) {
        let value: String = memory.value.chars().take(200).collect();
        lines.push(format!("Remembered: {} = {}", one_line(&memory.key), one_line(&value)));
    }
    Ok(Some(lines.join("\n")))
}
