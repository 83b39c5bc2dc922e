//! The name of an executor.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shape::TextForm;

/// The name under which an executor is found: `shell`, `aop-stdio`, or one that was configured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExecutorName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an executor's name must be {}", FORM.name)]
pub struct InvalidExecutorName;

/// Characters in a name, at most.
pub const NAME_CHARS_MAX: usize = 64;

pub static FORM: TextForm = TextForm {
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

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_plain) && text.chars().all(|c| is_plain(c) || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests;
