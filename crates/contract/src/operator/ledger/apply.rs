//! Computes the effect of a stream of deltas on a ledger, without changing it.

use std::collections::BTreeMap;

use super::{DeltaOptions, Ignored, KIND, Ledger};
use crate::digest;
use crate::domain::crew::row::CrewRow;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::operator::delta::{Delta, Intent};
use crate::operator::report::FindingReport;
use crate::operator::rules::OperatorRule;
use crate::verdict::Verdict;

/// The pending changes. Dropping it discards them.
#[derive(Debug, Default)]
pub(super) struct LedgerDraft {
    rows: BTreeMap<TaskRef, CrewRow>,
    applied: BTreeMap<String, Option<String>>,
    steps: u64,
    ignored: Vec<Ignored>,
}

/// The first delta that cannot be applied, and why.
#[derive(Debug)]
pub(super) struct DeltaRefusal {
    index: usize,
    task_id: TaskRef,
    fault: DeltaFault,
}

#[derive(Debug)]
struct DeltaFault {
    rule: OperatorRule,
    field: &'static str,
    message: String,
    /// The versions that should have been the same.
    versions: Option<(i64, i64)>,
}

impl DeltaFault {
    fn new(rule: OperatorRule, field: &'static str, message: impl Into<String>) -> Self {
        Self { rule, field, message: message.into(), versions: None }
    }
}

impl DeltaRefusal {
    pub(super) fn verdict(self) -> Box<Verdict> {
        let mut report = FindingReport::default();
        let field = self.fault.field;
        let path = if field.is_empty() { "$".to_owned() } else { format!("$[{}].{field}", self.index) };
        report.fault(path, self.fault.rule, self.fault.message);
        report.note("index", self.index);
        report.note("task_id", self.task_id.as_str());
        if let Some((expected, found)) = self.fault.versions {
            report.note("expected", expected);
            report.note("found", found);
        }
        Box::new(report.verdict(KIND, ""))
    }
}

pub(super) fn draft(
    ledger: &Ledger,
    deltas: &[Delta],
    options: DeltaOptions,
) -> Result<LedgerDraft, DeltaRefusal> {
    let mut draft = LedgerDraft::default();
    for (index, delta) in deltas.iter().enumerate() {
        let applied = if index == 0 { guard(ledger, options) } else { Ok(()) };
        applied.and_then(|()| draft.apply(ledger, delta, options)).map_err(|fault| DeltaRefusal {
            index,
            task_id: delta.task_id.clone(),
            fault,
        })?;
    }
    Ok(draft)
}

/// Whether the ledger still has the version that the envelope was written for.
fn guard(ledger: &Ledger, options: DeltaOptions) -> Result<(), DeltaFault> {
    let Some(expected) = options.base_version.filter(|expected| *expected != ledger.version) else {
        return Ok(());
    };
    let message = format!("the ledger has version {}, not {expected}", ledger.version);
    let versions = Some((signed(expected), signed(ledger.version)));
    Err(DeltaFault { versions, ..DeltaFault::new(OperatorRule::BaseVersion, "", message) })
}

impl LedgerDraft {
    /// Applies the draft and returns the ignored deltas.
    pub(super) fn commit(self, ledger: &mut Ledger) -> Vec<Ignored> {
        ledger.version = ledger.version.saturating_add(self.steps);
        ledger.rows.extend(self.rows);
        for (delta_id, digest) in self.applied {
            if let Some(digest) = digest {
                ledger.digests.insert(delta_id.clone(), digest);
            }
            ledger.applied.insert(delta_id);
        }
        self.ignored
    }

    fn apply(&mut self, ledger: &Ledger, delta: &Delta, options: DeltaOptions) -> Result<(), DeltaFault> {
        if delta.delta_id.trim().is_empty() {
            return Err(DeltaFault::new(OperatorRule::ItemField, "delta_id", "must not be blank"));
        }
        if delta.last_heartbeat_at.as_deref().is_some_and(|time| Timestamp::parse_utc(time).is_none()) {
            return Err(DeltaFault::new(
                OperatorRule::Timestamp,
                "last_heartbeat_at",
                "must be a real time in UTC",
            ));
        }
        // A delta with a number too large to be hashed has no digest, like an imported id.
        let digest = digest::of_value(delta).ok();
        if let Some(known) = self.known_digest(ledger, &delta.delta_id) {
            return self.ignore(delta, known.is_some() && known != digest, options);
        }
        let row = self.rows.get(&delta.task_id).or_else(|| ledger.rows.get(&delta.task_id));
        check_version(row, delta, options)?;
        let next = match row {
            None => created(delta)?,
            Some(row) => {
                check_step(row, delta)?;
                if delta.status == Status::InProgress && row.status != Status::InProgress {
                    self.check_dependencies(ledger, row, delta)?;
                }
                changed(row, delta)
            }
        };
        if delta.status == Status::InProgress && delta.owner.trim().is_empty() {
            let message = format!("{} cannot be in progress without an owner", delta.task_id);
            return Err(DeltaFault::new(OperatorRule::OwnerMissing, "owner", message));
        }
        self.rows.insert(delta.task_id.clone(), next);
        self.applied.insert(delta.delta_id.clone(), digest);
        self.steps += 1;
        Ok(())
    }

    /// The delta that was applied under this id: `None`, or its digest if known.
    #[expect(
        clippy::option_option,
        reason = "whether it was applied and whether its content is known are two questions"
    )]
    fn known_digest(&self, ledger: &Ledger, delta_id: &str) -> Option<Option<String>> {
        if let Some(digest) = self.applied.get(delta_id) {
            return Some(digest.clone());
        }
        ledger.applied.contains(delta_id).then(|| ledger.digests.get(delta_id).cloned())
    }

    fn ignore(&mut self, delta: &Delta, mismatch: bool, options: DeltaOptions) -> Result<(), DeltaFault> {
        if mismatch && options.strict {
            let message = format!("`{}` was applied with other content", delta.delta_id);
            return Err(DeltaFault::new(OperatorRule::DeltaMismatch, "delta_id", message));
        }
        self.ignored.push(Ignored { delta_id: delta.delta_id.clone(), mismatch });
        Ok(())
    }

    fn check_dependencies(&self, ledger: &Ledger, row: &CrewRow, delta: &Delta) -> Result<(), DeltaFault> {
        let status = |task_id: &TaskRef| {
            self.rows.get(task_id).or_else(|| ledger.rows.get(task_id)).map(|row| row.status)
        };
        let open = row.dependencies().iter().find(|task_id| status(task_id) != Some(Status::Done));
        let Some(open) = open else { return Ok(()) };
        let message = format!("{} depends on {open}, which is not done", delta.task_id);
        Err(DeltaFault::new(OperatorRule::DependencyNotDone, "status", message))
    }
}

fn check_version(row: Option<&CrewRow>, delta: &Delta, options: DeltaOptions) -> Result<(), DeltaFault> {
    let found = row.map_or(-1, |row| signed(row.version));
    match delta.x_expected_version {
        Some(expected) if expected != found => {
            let message = format!("{} has version {found}, not {expected}; read it again", delta.task_id);
            let fault = DeltaFault::new(OperatorRule::ExpectedVersion, "x_expected_version", message);
            Err(DeltaFault { versions: Some((expected, found)), ..fault })
        }
        None if options.strict => {
            let message = "must say which version of the row was read (-1 for none)";
            Err(DeltaFault::new(OperatorRule::ItemField, "x_expected_version", message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Creates a row. A new row must be `todo`.
fn created(delta: &Delta) -> Result<CrewRow, DeltaFault> {
    if delta.status != Status::Todo || delta.x_intent == Some(Intent::Update) {
        let message = format!("{} is not in the ledger, and the delta does not create it", delta.task_id);
        return Err(DeltaFault::new(OperatorRule::BaseRowMissing, "task_id", message));
    }
    let columns = delta.x_row.clone().unwrap_or_default();
    let mut row = CrewRow {
        status: delta.status,
        owner: String::new(),
        reason: String::new(),
        version: 0,
        retry_count: 0,
        last_heartbeat_at: None,
        timed_out: None,
        retry_after_ms: None,
        x_retry_at: None,
        x_from_packet: Vec::new(),
        x_accepted: None,
        columns,
    };
    write(&mut row, delta);
    Ok(row)
}

fn check_step(row: &CrewRow, delta: &Delta) -> Result<(), DeltaFault> {
    if delta.x_intent == Some(Intent::Create) {
        let message = format!("{} is already in the ledger", delta.task_id);
        return Err(DeltaFault::new(OperatorRule::CreateExists, "x_intent", message));
    }
    if !row.status.may_become(delta.status) {
        let message = format!("{} is {} and cannot become {}", delta.task_id, row.status, delta.status);
        return Err(DeltaFault::new(OperatorRule::Illegal, "status", message));
    }
    if row.status.is_terminal() && row.owner != delta.owner {
        let message = format!("{} is {}; its owner cannot change", delta.task_id, row.status);
        return Err(DeltaFault::new(OperatorRule::TerminalOwnerChange, "owner", message));
    }
    Ok(())
}

fn changed(row: &CrewRow, delta: &Delta) -> CrewRow {
    let mut next = row.clone();
    next.version = row.version.saturating_add(1);
    if delta.status == Status::Blocked && row.status != Status::Blocked {
        next.retry_count = row.retry_count.saturating_add(1);
    }
    // A blocked task that returns to todo is planned again; only then may the columns of its row change.
    if let (Status::Blocked, Status::Todo, Some(newer)) = (row.status, delta.status, &delta.x_row) {
        next.columns.update(newer);
        next.keep_own(newer);
    }
    write(&mut next, delta);
    next
}

/// The last delta wins; fields that it does not set stay, and a heartbeat never moves back.
fn write(row: &mut CrewRow, delta: &Delta) {
    row.status = delta.status;
    row.owner.clone_from(&delta.owner);
    row.reason.clone_from(&delta.reason);
    row.timed_out = delta.timed_out.or(row.timed_out);
    row.retry_after_ms = delta.retry_after_ms.or(row.retry_after_ms);
    let time = |text: &Option<String>| text.as_deref().and_then(Timestamp::parse_utc);
    if time(&delta.last_heartbeat_at) > time(&row.last_heartbeat_at) {
        row.last_heartbeat_at.clone_from(&delta.last_heartbeat_at);
    }
}

fn signed(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
