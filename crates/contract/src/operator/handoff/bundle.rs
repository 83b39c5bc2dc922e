//! What a handoff bundle carries in addition to the contract's fields, so that another store can continue the run.

mod faults;
pub mod foreign;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::check::CheckSeen;
use crate::domain::crew::approval::ApprovalState;
use crate::domain::crew::budget::{Amount, Purse};
use crate::domain::crew::row::CrewRow;
use crate::domain::crew::snapshot::{Snapshot, SnapshotChanges};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::crew::{AppliedDelta, Ended, lock};
use crate::domain::pins::Digests;
use crate::domain::plan::PlanTask;
use crate::domain::run::{Intent, RunState};
use crate::domain::status::Evidence;
use crate::domain::time::{Lease, Now, Timestamp};
use crate::json::Map;
use crate::operator::Code;
use crate::operator::handoff::{Handoff, HandoffRow};

/// The highest token that can be imported. A higher one would use up the token numbers of the importing store.
pub const TOKEN_MAX: i64 = 1 << 48;

/// A bundle that can be imported: the contract's part and our additions.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffBundle {
    pub handoff: Handoff,
    /// One for each row of the ledger, in its order.
    pub rows: Vec<CarriedRow>,
    pub carried: HandoffExtras,
}

/// What a row of the bundle carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRow {
    pub x_row: CrewRow,
    /// What its author wrote, including the checks.
    pub x_spec: PlanTask,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_evidence: Option<Evidence>,
    pub x_priority: i64,
    /// What is withheld because nobody reported what the task spent.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub x_withheld: Amount,
    /// The files that its checks use, as they were before the work on it began. Without them, the next
    /// worker could change the checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_pinned: Option<Digests>,
    /// Why it is only claimed, although its checks passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_only_claimed: Option<String>,
}

/// What the bundle carries in addition to the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffExtras {
    pub x_run: RunPart,
    /// The last assignment of each task that was ever assigned.
    pub x_assignments: Vec<CarriedAssignment>,
    pub x_results: Vec<CarriedResult>,
    pub x_worklogs: Vec<CarriedWorklog>,
    /// The ids of all deltas, so that a repeated one is recognized.
    pub x_applied: Vec<AppliedDelta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_budget: Option<Purse>,
    pub x_approvals: Vec<CarriedApproval>,
}

/// The run itself, without its workspace and its requester, which belong to the importing store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPart {
    pub corr: String,
    pub state: RunState,
    /// Of the ledger.
    pub version: u64,
    /// The highest token that was ever granted to the run.
    pub fencing: i64,
    pub max_parallel: usize,
    pub document_digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedAssignment {
    pub task_id: TaskRef,
    pub token: i64,
    pub packet: Value,
    /// `None` while it is being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// What is reserved for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Amount>,
    /// The digest of its worker's token, with which the worker goes on in the other store. A bundle has no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedResult {
    pub task_id: TaskRef,
    pub token: i64,
    pub result: Value,
    pub checks: Vec<CheckSeen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<SnapshotChanges>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedWorklog {
    pub task_id: TaskRef,
    pub lines: Vec<CarriedLine>,
    /// The digest of the last line. Only the lines after it would name it.
    pub end: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedLine {
    /// The exact text of the line in the file.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<i64>,
}

/// An approval. A granted approval that was not used is requested again: it was granted for another store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedApproval {
    pub task_id: TaskRef,
    pub action: String,
    pub action_digest: String,
    pub requested_by: String,
    pub deadline: Timestamp,
    pub state: ApprovalState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<i64>,
}

/// Why a bundle is refused, with the operator contract's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFault {
    pub code: Code,
    pub rule: &'static str,
    /// Where in the bundle.
    pub path: String,
    pub message: String,
}

impl BundleFault {
    fn new(code: Code, rule: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, rule, path: path.into(), message: message.into() }
    }
}

impl HandoffBundle {
    /// Reads and validates our part of a bundle whose other part was validated.
    pub fn of(handoff: Handoff) -> Result<Self, BundleFault> {
        if !handoff.extra.contains_key("x_run") {
            let message = "the bundle has only some of the fields that `writ handoff export` adds";
            return Err(BundleFault::new(Code::MissingRequiredInput, "missing", "$.x_run", message));
        }
        let carried = parsed(&handoff.extra, "$")?;
        let mut rows = Vec::new();
        for (index, row) in handoff.ledger.iter().enumerate() {
            rows.push(parsed(&row.extra, &format!("$.ledger[{index}]"))?);
        }
        let bundle = Self { handoff, rows, carried };
        bundle.judge()?;
        Ok(bundle)
    }

    /// The rows with what belongs to each.
    pub fn tasks(&self) -> impl Iterator<Item = (&HandoffRow, &CarriedRow)> {
        self.handoff.ledger.iter().zip(&self.rows)
    }

    /// The bundle as a document.
    pub fn document(&self) -> Value {
        let mut document = json!(self.handoff);
        let put = |target: &mut Value, fields: Value| {
            if let (Some(target), Value::Object(fields)) = (target.as_object_mut(), fields) {
                target.extend(fields);
            }
        };
        put(&mut document, json!(self.carried));
        for (index, row) in self.rows.iter().enumerate() {
            put(&mut document["ledger"][index], json!(row));
        }
        document
    }

    /// Every token in the bundle.
    pub fn tokens(&self) -> impl Iterator<Item = i64> {
        let locks = self.handoff.active_locks.iter().filter_map(|lock| lock.x_fencing_token);
        let assignments = self.carried.x_assignments.iter().map(|given| given.token);
        let results = self.carried.x_results.iter().map(|result| result.token);
        let lines = self.carried.x_worklogs.iter().flat_map(|log| &log.lines).filter_map(|line| line.token);
        let approvals = self.carried.x_approvals.iter().filter_map(|approval| approval.used_by);
        locks
            .map(|token| i64::try_from(token).unwrap_or(i64::MAX))
            .chain(assignments)
            .chain(results)
            .chain(lines)
            .chain(approvals)
    }

    /// Raises every token by `by`: the importing store has used these numbers for other grants.
    #[must_use]
    pub fn shifted(mut self, by: i64) -> Self {
        let add = |token: &mut i64| *token = token.saturating_add(by);
        for lock in &mut self.handoff.active_locks {
            lock.x_fencing_token = lock.x_fencing_token.map(|token| token.saturating_add_signed(by));
        }
        for given in &mut self.carried.x_assignments {
            add(&mut given.token);
            shift_field(&mut given.packet, by);
            for lock in given.packet["active_locks"].as_array_mut().into_iter().flatten() {
                shift_field(lock, by);
            }
        }
        for accepted in &mut self.carried.x_results {
            add(&mut accepted.token);
            shift_field(&mut accepted.result, by);
        }
        let lines = self.carried.x_worklogs.iter_mut().flat_map(|log| &mut log.lines);
        lines.filter_map(|line| line.token.as_mut()).for_each(add);
        self.carried.x_approvals.iter_mut().filter_map(|asked| asked.used_by.as_mut()).for_each(add);
        add(&mut self.carried.x_run.fencing);
        self
    }
}

fn shift_field(value: &mut Value, by: i64) {
    if let Some(token) = value.get("x_fencing_token").and_then(Value::as_i64) {
        value["x_fencing_token"] = json!(token.saturating_add(by));
    }
}

fn parsed<T: serde::de::DeserializeOwned>(fields: &Map<String, Value>, path: &str) -> Result<T, BundleFault> {
    serde_json::from_value(Value::Object(fields.clone())).map_err(|error| {
        BundleFault::new(
            Code::SchemaInvalid,
            "type",
            path,
            format!("the fields that writ adds to a bundle: {error}"),
        )
    })
}

/// The lease of an imported lock: the time that is left after the holder's last heartbeat. Two machines
/// share only the wall clock; a holder without a heartbeat gets a new lease.
pub fn lease_left(now: &Now, timeout_ms: u64, heard: Option<Timestamp>) -> Lease {
    let whole = lock::lease(now, std::time::Duration::from_millis(timeout_ms));
    let silent = heard.map_or(0, |heard| now.at.millis().saturating_sub(heard.millis()).max(0));
    Lease { until_millis: whole.until_millis.saturating_sub(silent), ..whole }
}

/// The path of the first place in which two documents differ.
pub fn difference(one: &Value, other: &Value) -> Option<String> {
    differs_at(one, other, "$")
}

fn differs_at(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().find_map(|name| {
                let path = format!("{path}.{name}");
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differs_at(a, b, &path),
                    _ => Some(path),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| differs_at(a, b, &format!("{path}[{index}]")))
        }
        _ => (one != other).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests;
