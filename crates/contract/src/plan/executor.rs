//! The name of an executor, and whether its tasks have a prompt.

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

/// An executor that is configured where the plan is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownExecutor {
    pub name: ExecutorName,
    pub prompt: PromptUse,
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

/// Adds the faults of a task's executor and prompt. With an empty list of known executors, neither is checked.
pub(super) fn check(
    name: &ExecutorName,
    has_prompt: bool,
    known: &[KnownExecutor],
    at: &str,
    findings: &mut Findings,
) {
    if known.is_empty() {
        return;
    }
    let Some(executor) = known.iter().find(|executor| executor.name == *name) else {
        findings.push(format!("{at}.executor"), "unknown_executor", unknown(name.as_str(), known));
        return;
    };
    match (executor.prompt, has_prompt) {
        (PromptUse::Required, false) => {
            findings.push(format!("{at}.prompt"), "missing", format!("a task for `{name}` needs a `prompt`"));
        }
        (PromptUse::Unused, true) => {
            findings.push(format!("{at}.prompt"), "unused", format!("a task for `{name}` takes no `prompt`"));
        }
        (PromptUse::Required, true) | (PromptUse::Unused, false) => {}
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
