//! What the tasks of an executor have to contain.

use std::fmt;

use crate::domain::executor::ExecutorName;
use crate::domain::text::cut;
use crate::finding::Findings;

/// Whether a task of an executor has a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptUse {
    Required,
    /// A prompt is refused, because the executor would not read it.
    Unused,
}

/// Whether a task of an executor has a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandUse {
    Required,
    /// A command is refused, because the executor has a program of its own.
    Unused,
}

/// An executor that is configured where the plan is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownExecutor {
    pub name: ExecutorName,
    pub prompt: PromptUse,
    pub command: CommandUse,
}

/// Which fields a plan's task has that concern its executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GivenFields {
    pub(super) prompt: bool,
    pub(super) command: bool,
    pub(super) model: bool,
}

/// A regular expression that the output of a program has to match somewhere.
#[derive(Debug, Clone)]
pub struct Pattern(regex::Regex);

impl Pattern {
    /// `None` if it is not a regular expression, or too large a one.
    pub fn parse(text: &str) -> Option<Self> {
        regex::RegexBuilder::new(text).multi_line(true).build().ok().map(Self)
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Adds the faults of a task's executor, prompt, command and model. With an empty list of known executors, only a missing
/// command is one.
pub(super) fn check(
    name: &ExecutorName,
    given: GivenFields,
    known: &[KnownExecutor],
    at: &str,
    findings: &mut Findings,
) {
    let executor = known.iter().find(|executor| executor.name == *name);
    let needs_command = executor.map_or(known.is_empty(), |it| it.command == CommandUse::Required);
    if needs_command && !given.command {
        findings.push(format!("{at}.command"), "missing", format!("a task for `{name}` needs a `command`"));
    }
    if known.is_empty() {
        return;
    }
    let Some(executor) = executor else {
        findings.push(format!("{at}.executor"), "unknown_executor", unknown(name.as_str(), known));
        return;
    };
    let mut unused = |field: &str| {
        findings.push(format!("{at}.{field}"), "unused", format!("a task for `{name}` takes no `{field}`"));
    };
    if given.prompt && executor.prompt == PromptUse::Unused {
        unused("prompt");
    }
    if given.model && executor.prompt == PromptUse::Unused {
        unused("model");
    }
    if given.command && executor.command == CommandUse::Unused {
        unused("command");
    }
    if !given.prompt && executor.prompt == PromptUse::Required {
        findings.push(format!("{at}.prompt"), "missing", format!("a task for `{name}` needs a `prompt`"));
    }
}

/// The message for an unknown executor name.
pub fn unknown(name: &str, known: &[KnownExecutor]) -> String {
    let names: Vec<&str> = known.iter().map(|executor| executor.name.as_str()).collect();
    let shown = cut(name, 40);
    format!("must be one of {}; is `{shown}`", names.join(", "))
}
