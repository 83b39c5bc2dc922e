//! The commands with which an agent answers. Each is complete: an agent's shell may lose its state between two calls.

use super::Situation;
use super::found::REASONING;
use super::situation::ProgramName;
use crate::command_line::quoted;
use crate::domain::status::Status;
use crate::domain::task::Task;

/// With less space than this, the prompt only says how to list the commands.
const COMMANDS_ROOM: usize = 3200;
const TITLE: &str = "== COMMANDS (a new request id for each write; the same one to repeat it) ==\n";

/// The commands, or how to list them if they take more than half of the space.
pub(super) fn section(situation: &Situation<'_>, room: usize) -> String {
    let text = printed(&commands(situation));
    if room >= COMMANDS_ROOM && text.len() <= room / 2 {
        return text;
    }
    let program = Some(situation.program.call.as_str()).filter(|program| program.len() <= room / 6);
    format!("Commands: {} schema commands\n", program.unwrap_or("writ"))
}

/// The commands with which a subagent reports what it found. It neither takes nor closes the task.
pub(super) fn for_subagent(situation: &Situation<'_>) -> String {
    let Some(task) = situation.task else { return String::new() };
    printed(&[log(situation, task), reject(situation, task)])
}

/// The command that starts a task.
pub(super) fn begin(situation: &Situation<'_>, task: &str) -> String {
    keyed(situation, "task begin", "begin", &format!("--id {task}"))
}

fn printed(commands: &[(&str, String)]) -> String {
    let lines = commands.iter().map(|(word, command)| format!("{word:<6} {command}\n"));
    std::iter::once(TITLE.to_owned()).chain(lines).collect()
}

fn commands(situation: &Situation<'_>) -> Vec<(&'static str, String)> {
    let Some(task) = situation.task.filter(|task| task.status != Status::Done) else {
        return without_task(situation);
    };
    let complete = |name, outcome| {
        let rest = format!("--id {} --outcome {outcome} --summary \"...\"", task.id);
        keyed(situation, "task complete", name, &rest)
    };
    let close = [("DONE", complete("done", "done")), ("STUCK", complete("stuck", "blocked"))];
    let think = ("THINK", push(situation, task, ("think", REASONING)));
    let save = ("SAVE", save(situation, &format!("--scope task --scope-id {}", task.id)));
    let mut commands = Vec::new();
    match situation.program.name {
        ProgramName::Vybe => {
            commands.extend(close);
            commands.extend([log(situation, task), save, think]);
        }
        ProgramName::Writ => {
            // A run judges its own tasks when their executor ends.
            if task.part.is_none() {
                commands.extend(
                    (task.status == Status::Todo).then(|| ("BEGIN", begin(situation, task.id.as_str()))),
                );
                commands.extend(close);
            }
            commands.extend([log(situation, task), reject(situation, task), think, save]);
        }
    }
    commands
}

fn log(situation: &Situation<'_>, task: &Task) -> (&'static str, String) {
    ("LOG", push(situation, task, ("log", "progress")))
}

fn reject(situation: &Situation<'_>, task: &Task) -> (&'static str, String) {
    ("REJECT", push(situation, task, ("reject", "rejected")))
}

fn push(situation: &Situation<'_>, task: &Task, (name, kind): (&str, &str)) -> String {
    let event = format!("{{\"kind\":\"{kind}\",\"message\":\"...\"}}");
    let rest = format!("--json '{{\"task_id\":\"{}\",\"event\":{event}}}'", task.id);
    keyed(situation, "push", name, &rest)
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

/// A command with the agent's name and a new request id. Some agents run their tools on a terminal, on which a verb
/// prints text unless it is told not to.
fn keyed(situation: &Situation<'_>, verb: &str, name: &str, rest: &str) -> String {
    let (program, agent) = (&situation.program.call, quoted(situation.agent));
    let output = match situation.program.name {
        ProgramName::Writ => " --output json",
        ProgramName::Vybe => "",
    };
    let command =
        format!("{program} {verb}{output} --agent {agent} --request-id \"{name}_$(date +%s%N)_$$\" {rest}");
    command.trim_end().to_owned()
}
