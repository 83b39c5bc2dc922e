//! Operator contracts v1: the documents an orchestrator and its subagents exchange, and the validators for them.
//!
//! Every validator returns one primary code. If a document has several faults, the earliest of these stages
//! decides: parse, version, missing input, unknown fields, values, paths, scope, locks, secrets and injected
//! instructions, other documents, the ledger, completion. All faults are listed, each with its path.

pub mod assignment;
pub mod codes;
pub mod conflict;
pub mod delta;
pub mod envelope;
pub mod fencing;
pub mod handoff;
pub mod ids;
pub mod ledger;
pub mod locks;
pub mod options;
pub mod reconcile;
pub mod result;
pub mod watchdog;
pub mod worklog;

mod document;
mod report;
mod rules;
mod trust;

pub use assignment::{Assignment, read_assignment, recall_assignment, validate_assignment};
pub use codes::{Code, OperatorRetry};
pub use conflict::{PathClaim, conflict};
pub use delta::Delta;
pub use envelope::{Blocker, OrchestratorOutput, read_envelope, validate_envelope};
pub use fencing::Grants;
pub use handoff::{Handoff, read_handoff, validate_handoff};
pub use ids::RunId;
pub use ledger::{Applied, DeltaOptions, Ledger, apply_deltas, validate_deltas};
pub use locks::{Lock, validate_locks};
pub use options::{Options, Tripwire};
pub use reconcile::{Issue, IssueRule, validate_reconcile};
pub use result::{Outcome, SubagentResult, read_result, validate_result};
pub use trust::{ASSIGNMENT_DATA, untrusted};
pub use watchdog::{timed_out, validate_watchdog};
pub use worklog::{WorklogEntry, validate_worklog, validate_worklog_entry};

use crate::shape::Object;
use crate::verdict::Verdict;

/// The version that our own documents carry.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The shape of every document, for the published schemas.
pub fn shapes() -> Vec<&'static Object> {
    vec![
        Assignment::OBJECT,
        OrchestratorOutput::OBJECT,
        SubagentResult::OBJECT,
        WorklogEntry::OBJECT,
        Handoff::OBJECT,
        &locks::LOCK_TABLE,
        &ledger::LEDGER_DELTAS,
        &reconcile::RECONCILE,
        &watchdog::WATCHDOG,
    ]
}

/// The exit code that belongs to a verdict: 0 allowed, 1 denied, 2 the validator could not run.
pub fn exit_code(verdict: &Verdict) -> u8 {
    match Code::parse(&verdict.code) {
        Some(code) if verdict.allow == (code == Code::Ok) => code.exit(),
        Some(_) | None => Code::MissingValidator.exit(),
    }
}

#[cfg(test)]
mod tests;
