//! Which command of the agent contract calls which operation, and the words that its arguments take.

use contract::domain::memory::{MemoryKind, Scope, ValueType};

use super::{Operation, find};

/// A command and what a caller has to know beyond its grammar.
pub struct Command {
    /// As it is typed, without the program's name.
    pub path: &'static str,
    pub operation: &'static str,
    /// Arguments that take one of a few words.
    pub words: &'static [(&'static str, &'static [&'static str])],
}

const STATUS: (&str, &[&str]) = ("status", &["pending", "in_progress", "completed", "blocked"]);
/// Failed and canceled tasks are shown as blocked; who looks for them alone can say so.
const LISTED: (&str, &[&str]) =
    ("status", &["pending", "in_progress", "completed", "blocked", "failed", "canceled"]);
const OUTCOME: (&str, &[&str]) = ("outcome", &["done", "blocked"]);
const SCOPE: (&str, &[&str]) = ("scope", Scope::WORDS);

const fn plain(path: &'static str, operation: &'static str) -> Command {
    Command { path, operation, words: &[] }
}

pub const COMMANDS: &[Command] = &[
    plain("artifacts list", "artifact.list"),
    plain("events list", "event.list"),
    Command { path: "memory delete", operation: "memory.delete", words: &[SCOPE] },
    plain("memory gc", "memory.gc"),
    Command { path: "memory get", operation: "memory.get", words: &[SCOPE] },
    Command { path: "memory list", operation: "memory.list", words: &[SCOPE] },
    Command { path: "memory pin", operation: "memory.pin", words: &[SCOPE] },
    plain("memory search", "memory.search"),
    Command {
        path: "memory set",
        operation: "memory.set",
        words: &[SCOPE, ("type", ValueType::WORDS), ("kind", MemoryKind::WORDS)],
    },
    plain("push", "agent.push"),
    plain("resume", "resume.resume"),
    plain("status", "status.show"),
    plain("task add-dep", "task.add_dependency"),
    plain("task begin", "task.begin"),
    Command { path: "task complete", operation: "task.complete", words: &[OUTCOME] },
    plain("task create", "task.create"),
    plain("task delete", "task.delete"),
    plain("task get", "task.get"),
    Command { path: "task list", operation: "task.list", words: &[LISTED] },
    plain("task remove-dep", "task.remove_dependency"),
    plain("task set-priority", "task.set_priority"),
    Command { path: "task set-status", operation: "task.set_status", words: &[STATUS] },
];

impl Command {
    /// The command that is typed like this, and the operation behind it.
    pub fn at(path: &str) -> Option<(&'static Command, &'static Operation)> {
        let command = COMMANDS.iter().find(|command| command.path == path)?;
        Some((command, find(command.operation)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Call, OPERATIONS};
    use super::*;

    #[test]
    fn every_command_has_its_operation_and_every_write_of_an_agent_its_command() {
        for command in COMMANDS {
            assert!(find(command.operation).is_some(), "{} calls {}", command.path, command.operation);
        }
        // What a session's end does by itself, and what is no part of the agent contract.
        let others = ["agent.leave", "store.gc"];
        let areas = ["task.", "memory.", "agent.", "resume."];
        let of_agents = |operation: &&Operation| {
            matches!(operation.call, Call::Write(_))
                && areas.iter().any(|area| operation.name.starts_with(area))
        };
        for operation in OPERATIONS.iter().filter(of_agents).filter(|o| !others.contains(&o.name)) {
            let known = COMMANDS.iter().any(|command| command.operation == operation.name);
            assert!(known, "{} has no command", operation.name);
        }
    }
}
