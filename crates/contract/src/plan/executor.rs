//! The name of an executor, and what its tasks have to say.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::text::cut;
use crate::finding::Findings;
use crate::shape::Form;

/// The name under which an executor is found: `shell`, `aop-stdio`, or one that was configured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExecutorName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an executor's name must be {}", FORM.name)]
pub struct InvalidExecutorName;

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

/// Characters in a name, at most.
pub const NAME_CHARS_MAX: usize = 64;

pub static FORM: Form = Form {
    name: "a name of lower-case letters, digits, `-`, `_` and `.`, starting with a letter or digit",
    pattern: "^[a-z0-9][a-z0-9._-]*$",
    accepts: is_name,
};

impl ExecutorName {
    /// Whether it only runs a command, so that its tasks spend nothing.
    pub fn is_model_free(&self) -> bool {
        *self == Self::shell()
    }

    pub fn parse(text: &str) -> Result<Self, InvalidExecutorName> {
        let fits = is_name(text) && text.len() <= NAME_CHARS_MAX;
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidExecutorName) }
    }

    /// The default executor of a plan's task.
    pub fn shell() -> Self {
        Self("shell".to_owned())
    }

    /// The executor of an AOP TASK.
    pub fn aop_stdio() -> Self {
        Self("aop-stdio".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ExecutorName {
    type Error = InvalidExecutorName;

    fn try_from(text: String) -> Result<Self, InvalidExecutorName> {
        Self::parse(&text)
    }
}

impl From<ExecutorName> for String {
    fn from(name: ExecutorName) -> String {
        name.0
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

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_plain) && text.chars().all(|c| is_plain(c) || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests;
