//! The worklog: what a subagent did, one JSON object per line, never edited.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::codes::Code;
use super::ids::{RunId, same_run};
use super::options::Options;
use super::report::FindingReport;
use super::result::Outcome;
use super::rules::OperatorRule;
use super::{document, trust};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::time::Timestamp;
use crate::json::strict;
use crate::shape::{NON_BLANK, Shape, TEXT, UTC, document, list, optional};
use crate::verdict::Verdict;

const KIND: &str = "worklog";

document! {
    /// One line of a worklog.
    #[shape(name = "operator_worklog_entry", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct WorklogEntry {
        /// The time; never before that of the previous line.
        pub timestamp: String as UTC,
        /// The run.
        pub run_id: RunId,
        /// The task; the same in the whole file.
        pub task_id: TaskRef,
        /// The actor.
        pub actor: String as NON_BLANK,
        /// The action.
        pub action: String as NON_BLANK,
        pub files_touched: Vec<String> as list!(NON_BLANK),
        /// The decision.
        pub decision: String,
        /// The result.
        pub result: String,
        /// What comes next.
        pub next_step: String,
        // Why a step was blocked or failed.
        /// Why the step was blocked or failed.
        pub code: Option<Code> as Shape::Word(Code::FAULTS),
        pub evidence: Option<String>,
        #[serde(flatten)]
        pub extra: Map<String, Value> = [
            optional("schema_version", TEXT, "Version of the contract."),
            optional("generated_at", UTC, ""),
        ],
    }
}

/// Validates a single entry.
pub fn validate_worklog_entry(bytes: &[u8], options: &Options) -> Verdict {
    match document::read(KIND, bytes) {
        Ok(entry) => examine_entry(&entry, options).verdict(KIND, "worklog entry valid"),
        Err(refusal) => *refusal,
    }
}

/// Validates a whole worklog. It must begin with the prior state, if given, and its last entry must explain the outcome.
pub fn validate_worklog(bytes: &[u8], options: &Options) -> Verdict {
    let mut report = FindingReport::default();
    let entries = read_lines(bytes, &mut report);
    for (index, entry) in &entries {
        report.absorb(&format!("$[{index}]"), examine_entry(entry, options));
    }
    if options.prior.is_some_and(|prior| !bytes.starts_with(prior)) {
        let message = "must begin with the earlier worklog, unchanged";
        report.fault("$", OperatorRule::NotAppendOnly, message);
    }
    check_order(&entries, &mut report);
    check_identity(&entries, options, &mut report);
    if matches!(options.outcome, Some(Outcome::Blocked | Outcome::Failed)) {
        check_end(entries.last(), &mut report);
    }
    if report.is_clean() {
        report.note("entry_count", entries.len());
    }
    report.verdict(KIND, "worklog valid")
}

fn examine_entry(entry: &Value, options: &Options) -> FindingReport {
    let mut report = document::structure(WorklogEntry::OBJECT, entry, options);
    trust::examine(entry, options, &mut report);
    report
}

/// The entries that can be read, each with its index; the others are reported.
fn read_lines(bytes: &[u8], report: &mut FindingReport) -> Vec<(usize, Value)> {
    if bytes.len() > limits::WORKLOG_BYTES_MAX {
        let message =
            format!("allows at most {} bytes, has {}", limits::WORKLOG_BYTES_MAX, crate::json::size(bytes));
        report.fault("$", OperatorRule::TooLarge, message);
        return Vec::new();
    }
    if bytes.trim_ascii().is_empty() {
        report.fault("$", OperatorRule::EmptyInput, "the worklog is empty");
        return Vec::new();
    }
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.pop().is_some_and(|rest| !rest.is_empty()) {
        // Its writer may have died in the middle of it, so it is not reliable.
        report.fault(format!("$[{}]", lines.len()), OperatorRule::TornLine, "the last line is incomplete");
    }
    let mut entries = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        match strict::parse(line) {
            Ok(entry) if entry.is_object() => entries.push((index, entry)),
            Ok(_) => {
                report.fault(format!("$[{index}]"), OperatorRule::NotAnObject, "each line must be an object");
            }
            Err(error) => {
                let message = format!("line {}: {error} (column {})", index + 1, error.column);
                report.fault(format!("$[{index}]"), OperatorRule::Json, message);
            }
        }
    }
    entries
}

fn check_order(entries: &[(usize, Value)], report: &mut FindingReport) {
    let mut latest: Option<Timestamp> = None;
    for (index, entry) in entries {
        let Some(time) = entry["timestamp"].as_str().and_then(Timestamp::parse_utc) else { continue };
        if latest.is_some_and(|latest| time < latest) {
            report.fault(
                format!("$[{index}].timestamp"),
                OperatorRule::TimeGoesBack,
                "is earlier than that of an entry above it",
            );
        }
        latest = latest.max(Some(time));
    }
}

/// One file holds one task of one run.
fn check_identity(entries: &[(usize, Value)], options: &Options, report: &mut FindingReport) {
    let Some((_, first)) = entries.first() else { return };
    let assigned = options.assignment.map(|a| (a.run_id.as_str(), a.task.task_id.as_str()));
    let (run_id, task_id) = match assigned {
        Some((run_id, task_id)) => (Some(run_id), Some(task_id)),
        None => (first["run_id"].as_str(), first["task_id"].as_str()),
    };
    for (index, entry) in entries {
        let mut compare = |name: &str, expected: Option<&str>, same: fn(&str, &str) -> bool| {
            let (Some(expected), Some(found)) = (expected, entry[name].as_str()) else { return };
            if !same(expected, found) {
                let message = format!("must be `{expected}`: a worklog belongs to one task of one run");
                report.fault(format!("$[{index}].{name}"), OperatorRule::IdentityMismatch, message);
            }
        };
        compare("run_id", run_id, same_run);
        compare("task_id", task_id, |a, b| a == b);
    }
}

/// The last entry of a blocked or failed task has a code and a next step.
fn check_end(last: Option<&(usize, Value)>, report: &mut FindingReport) {
    let Some((index, entry)) = last else { return };
    if entry.get("code").is_none() {
        let message = "the last entry of a blocked or failed task needs a `code`";
        report.fault(format!("$[{index}].code"), OperatorRule::FinalEntry, message);
    }
    if entry["next_step"].as_str().is_some_and(|step| step.trim().is_empty()) {
        let message = "the last entry of a blocked or failed task needs a `next_step`";
        report.fault(format!("$[{index}].next_step"), OperatorRule::FinalEntry, message);
    }
}
