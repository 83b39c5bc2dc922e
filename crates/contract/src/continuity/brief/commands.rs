//! The commands with which an agent answers. Each is complete: an agent's shell may lose its state between two calls.

use super::Situation;
use crate::domain::status::Status;
use crate::domain::task::TaskId;

/// With less space than this, the prompt only says how to list the commands.
const COMMANDS_ROOM: usize = 3200;

/// The commands, or how to list them if they take more than half of the space.
pub(super) fn section(situation: &Situation<'_>, room: usize) -> String {
    let mut text = "== COMMANDS (a new request id for each write; the same one to repeat it) ==\n".to_owned();
    for (word, command) in commands(situation) {
        text.push_str(&format!("{word:<6} {command}\n"));
    }
    if room >= COMMANDS_ROOM && text.len() <= room / 2 {
        return text;
    }
    let program = Some(situation.program).filter(|program| program.len() <= room / 6);
    format!("Commands: {} schema commands\n", program.unwrap_or("writ"))
}

/// The command that starts a task.
pub(super) fn begin(situation: &Situation<'_>, task: &TaskId) -> String {
    keyed(situation, "task begin", "begin", &format!("--id {task}"))
}

fn commands(situation: &Situation<'_>) -> Vec<(&'static str, String)> {
    let Some(task) = situation.task.filter(|task| task.status != Status::Done) else {
        return without_task(situation);
    };
    let id = &task.id;
    let complete = |name, outcome| {
        let rest = format!("--id {id} --outcome {outcome} --summary \"...\"");
        keyed(situation, "task complete", name, &rest)
    };
    let push = |name, kind| {
        let event = format!("{{\"kind\":\"{kind}\",\"message\":\"...\"}}");
        let rest = format!("--json '{{\"task_id\":\"{id}\",\"event\":{event}}}'");
        keyed(situation, "push", name, &rest)
    };
    let mut commands = Vec::new();
    if task.status == Status::Todo {
        commands.push(("BEGIN", begin(situation, id)));
    }
    commands.extend([
        ("DONE", complete("done", "done")),
        ("STUCK", complete("stuck", "blocked")),
        ("LOG", push("log", "progress")),
        ("REJECT", push("reject", "rejected")),
        ("THINK", push("think", super::REASONING)),
        ("SAVE", save(situation, &format!("--scope task --scope-id {id}"))),
    ]);
    commands
}

fn without_task(situation: &Situation<'_>) -> Vec<(&'static str, String)> {
    let project = situation.project_id.map(quoted);
    let with = |flag: &str| project.as_ref().map_or_else(String::new, |id| format!(" {flag} {id}"));
    let create = format!("--title \"...\"{}", with("--project-id"));
    let scope = match &project {
        Some(id) => format!("--scope project --scope-id {id}"),
        None => "--scope global".to_owned(),
    };
    vec![
        ("CREATE", keyed(situation, "task create", "create", &create)),
        ("RESUME", keyed(situation, "resume", "resume", with("--project-dir").trim_start())),
        ("SAVE", save(situation, &scope)),
    ]
}

fn save(situation: &Situation<'_>, scope: &str) -> String {
    keyed(situation, "memory set", "save", &format!("--key K --value V {scope}"))
}

/// A command with the agent's name and a new request id.
fn keyed(situation: &Situation<'_>, verb: &str, name: &str, rest: &str) -> String {
    let (program, agent) = (situation.program, quoted(situation.agent));
    let command = format!("{program} {verb} --agent {agent} --request-id \"{name}_$(date +%s%N)_$$\" {rest}");
    command.trim_end().to_owned()
}

/// Names may contain any character, so they are quoted for the shell.
fn quoted(name: &str) -> String {
    // Only text with a zero byte cannot be quoted, and names never have one.
    shlex::try_quote(name).unwrap_or_default().into_owned()
}
