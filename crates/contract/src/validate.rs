//! The entry point of all validators: takes a kind and bytes, returns one verdict.

mod detect;
mod kinds;
pub(crate) mod operator;
mod plan;
pub mod schema;

pub use detect::detect;
pub use kinds::Kind;

use crate::aee::judge;
use crate::domain::scope::Links;
use crate::domain::time::Timestamp;
use crate::finding::{Finding, Findings};
pub use crate::operator::Tripwire;
use crate::plan::KnownExecutor;
use crate::verdict::Verdict;

/// What the caller knows in addition to the document.
#[derive(Debug, Clone, Copy, Default)]
pub struct ValidateOptions<'a> {
    /// Refuse what a contract only allows to ignore.
    pub strict: bool,
    /// The workspace; absolute paths in it become relative, others are refused.
    pub root: Option<&'a str>,
    /// The current time, needed to decide whether a heartbeat is too old.
    pub now: Option<Timestamp>,
    /// The bytes of the assignment that a result or a worklog answers.
    pub assignment: Option<&'a [u8]>,
    /// The earlier worklog.
    pub prior: Option<&'a [u8]>,
    /// How the task of a worklog ended.
    pub outcome: Option<&'a str>,
    /// The workspace's symbolic links.
    pub links: Option<&'a Links>,
    /// The file system ignores case.
    pub fold: bool,
    /// What happens if a text seems to contain instructions; an operator's choice, never a field of a document.
    pub tripwire: Tripwire,
    /// Accept a handoff whose only faults are tasks that timed out.
    pub allow_stale: bool,
    /// Whether a task in progress must hold a lock; by default only if a ledger comes with its lock table.
    pub check_locks: Option<bool>,
    /// Executors that a plan may name; empty accepts every name.
    pub executors: &'a [KnownExecutor],
}

/// Validates a document. Without a kind, it is detected from the content.
pub fn validate(kind: Option<Kind>, bytes: &[u8], options: &ValidateOptions) -> Verdict {
    match kind.or_else(|| detect(bytes)) {
        Some(kind) => {
            let mut verdict = (kind.validator())(bytes, options);
            kind.as_str().clone_into(&mut verdict.details.kind);
            verdict
        }
        None if bytes.iter().all(u8::is_ascii_whitespace) => {
            *judge::refuse_whole(UNKNOWN_KIND, "empty_input", "the document is empty")
        }
        None => {
            let message = "the kind of the document cannot be detected; name the kind";
            *judge::refuse_whole(UNKNOWN_KIND, "unknown_kind", message)
        }
    }
}

/// The kind in the verdict on a document whose kind is unknown.
const UNKNOWN_KIND: &str = "unknown";

/// The code of a validator that could not run. The document is neither valid nor invalid, so it is refused.
pub const COULD_NOT_WORK: &str = "MISSING_VALIDATOR";

/// The refusal of a validator that could not run, for example because a file could not be read.
pub fn could_not_work(kind: Option<Kind>, rule: &'static str, message: impl Into<String>) -> Verdict {
    let primary = Finding { path: "$".to_owned(), rule, message: message.into() };
    let findings = Findings::from_iter([primary.clone()]);
    let kind = kind.map_or(UNKNOWN_KIND, Kind::as_str);
    Verdict::denied(kind, COULD_NOT_WORK, &primary, findings, Findings::default())
}

impl Verdict {
    /// 0 allowed, 1 denied, 2 the validator could not run.
    pub fn exit_code(&self) -> u8 {
        match self.code.as_str() {
            _ if self.allow => 0,
            COULD_NOT_WORK => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests;
