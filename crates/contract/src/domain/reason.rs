//! Why a task is in its state, and what a person should know about an attempt: codes for programs, a text for people.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::code::ErrorCode;
use super::failure_code::FailureCode;
use crate::shape::words;

/// Why a task is blocked, failed or canceled, or why a task that is done is only claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredReason")]
pub struct Reason {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ReasonCode>,
    /// What the code leaves open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<ReasonRule>,
    pub text: String,
}

/// What happened, for programs: the work failed, or a request of writ's own was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum ReasonCode {
    Failure(FailureCode),
    Refusal(ErrorCode),
}

words! {
    /// The rule that a task ended or waits by.
    ReasonRule {
        /// It waits for other tasks, and for nothing else.
        Dependency = "dependency",
        /// A layer refused its run.
        RunRefused = "run_refused",
        /// A layer refused to judge its attempt.
        Refused = "refused",
        CheckFailed = "check_failed",
        CheckpointAborted = "checkpoint_aborted",
        ScopeViolation = "scope_violation",
        MergeConflict = "merge_conflict",
        Interrupted = "interrupted",
        Canceled = "canceled",
        LocksLost = "locks_lost",
    }
}

/// Something about an attempt that did not fail it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredWarning")]
#[schemars(!from)]
pub struct Warning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<WarningCode>,
    pub text: String,
}

words! {
    WarningCode {
        /// A soft limit on size or count was exceeded.
        PayloadSize = "E_PAYLOAD_SIZE_WARNING",
        /// A field or message that is accepted has no effect.
        WithoutEffect = "WITHOUT_EFFECT",
    }
}

/// The printed reason of a task that waits for others.
const DEPENDENCY: &str = "dependency";
/// Comes before the reason for which a layer refused the run.
const RUN_REFUSED: &str = "the run was refused: ";
/// The beginning of the reasons that older versions stored for merge conflicts.
const MERGE_CONFLICT: &str = "merge conflict with ";

impl Reason {
    /// A reason for people alone.
    pub fn new(text: impl Into<String>) -> Self {
        Self { code: None, rule: None, text: text.into() }
    }

    pub fn coded(code: impl Into<ReasonCode>, text: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..Self::new(text) }
    }

    /// The reason of a task that waits for other tasks.
    pub fn dependency() -> Self {
        Self::new(DEPENDENCY).with_rule(ReasonRule::Dependency)
    }

    #[must_use]
    pub fn with_rule(self, rule: ReasonRule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// The same with `more` at the end of its text.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.text.push_str("; ");
        self.text.push_str(more);
        self
    }

    /// The same with another text.
    #[must_use]
    pub fn map_text(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { text: text(&self.text), ..self }
    }

    /// The kind of the failure, where the work failed.
    pub fn failure(&self) -> Option<FailureCode> {
        match self.code? {
            ReasonCode::Failure(code) => Some(code),
            ReasonCode::Refusal(_) => None,
        }
    }

    pub fn is_dependency(&self) -> bool {
        self.rule == Some(ReasonRule::Dependency)
    }

    /// Reads a printed reason: the stored form of older versions, and the only form that some contracts have.
    /// Printing the result gives `text` again.
    pub fn of_text(text: &str) -> Self {
        if text == DEPENDENCY {
            return Self::dependency();
        }
        if text.starts_with(MERGE_CONFLICT) {
            return Self::new(text).with_rule(ReasonRule::MergeConflict);
        }
        let (rule, rest) = match text.strip_prefix(RUN_REFUSED) {
            Some(rest) => (Some(ReasonRule::RunRefused), rest),
            None => (None, text),
        };
        let coded = rest.split_once(": ").and_then(|(word, text)| Some((ReasonCode::parse(word)?, text)));
        let (code, text) = match coded {
            Some((code, text)) if is_printed(code) => (Some(code), text),
            _ => (None, rest),
        };
        Self { code, rule, text: text.to_owned() }
    }
}

/// Whether a code is printed before its text. The end of a process is clear without it.
fn is_printed(code: ReasonCode) -> bool {
    code != ReasonCode::Failure(FailureCode::ProcessCrash)
}

impl ReasonCode {
    pub fn as_str(self) -> &'static str {
        match self {
            ReasonCode::Failure(code) => code.as_str(),
            ReasonCode::Refusal(code) => code.as_str(),
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        let refusal = || ErrorCode::ALL.iter().copied().find(|code| code.as_str() == word);
        FailureCode::parse(word).map(Self::Failure).or_else(|| refusal().map(Self::Refusal))
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<FailureCode> for ReasonCode {
    fn from(code: FailureCode) -> Self {
        Self::Failure(code)
    }
}

impl From<ErrorCode> for ReasonCode {
    fn from(code: ErrorCode) -> Self {
        Self::Refusal(code)
    }
}

impl From<ReasonCode> for String {
    fn from(code: ReasonCode) -> Self {
        code.as_str().to_owned()
    }
}

impl TryFrom<String> for ReasonCode {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::parse(&word).ok_or_else(|| format!("unknown code `{word}`"))
    }
}

/// For people: with its code, unless the text is clear without it.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rule == Some(ReasonRule::RunRefused) {
            f.write_str(RUN_REFUSED)?;
        }
        let is_of_check = matches!(self.rule, Some(ReasonRule::CheckFailed | ReasonRule::CheckpointAborted));
        match self.code.filter(|code| is_printed(*code) && !is_of_check) {
            Some(code) => write!(f, "{code}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// A reason as the log has it. Older versions stored the printed text.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredReason {
    Text(String),
    Fields {
        #[serde(default)]
        code: Option<ReasonCode>,
        #[serde(default)]
        rule: Option<ReasonRule>,
        text: String,
    },
}

impl From<StoredReason> for Reason {
    fn from(stored: StoredReason) -> Self {
        match stored {
            StoredReason::Text(text) => Reason::of_text(&text),
            StoredReason::Fields { code, rule, text } => Reason { code, rule, text },
        }
    }
}

impl Warning {
    pub fn new(text: impl Into<String>) -> Self {
        Self { code: None, text: text.into() }
    }

    pub fn coded(code: WarningCode, text: impl Into<String>) -> Self {
        Self { code: Some(code), text: text.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// A warning as the log has it. Older versions stored the printed text.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredWarning {
    Text(String),
    Fields {
        #[serde(default)]
        code: Option<WarningCode>,
        text: String,
    },
}

impl From<StoredWarning> for Warning {
    fn from(stored: StoredWarning) -> Self {
        let whole = match stored {
            StoredWarning::Fields { code, text } => return Warning { code, text },
            StoredWarning::Text(whole) => whole,
        };
        let coded = whole.split_once(": ").and_then(|(word, text)| Some((WarningCode::parse(word)?, text)));
        match coded {
            Some((code, text)) => Warning::coded(code, text),
            None => Warning::new(whole),
        }
    }
}

#[cfg(test)]
mod tests;
