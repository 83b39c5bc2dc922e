//! Completes a bundle that has only the contract's fields, so that a store can continue its run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BundleFault, CarriedAssignment, CarriedRow, HandoffBundle, HandoffExtras, RunPart};
use crate::domain::crew::budget::Amount;
use crate::domain::crew::lock::LockMode;
use crate::domain::crew::row::{Accepted, CrewColumns, CrewRow};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::run::RunState;
use crate::domain::scope::{Scope, ScopeFault};
use crate::domain::status::{Evidence, Status};
use crate::domain::time::Timestamp;
use crate::json::Map;
use crate::operator::handoff::{AcceptanceTarget, Dependency, Handoff, HandoffRow};
use crate::operator::ledger::spec_of;
use crate::operator::{Blocker, Code, Lock, SCHEMA_VERSION};

/// The fields of a bundle that only `writ handoff export` writes.
const OWN_FIELDS: &[&str] =
    &["x_run", "x_assignments", "x_results", "x_worklogs", "x_applied", "x_budget", "x_approvals"];
const OWN_ROW_FIELDS: &[&str] =
    &["x_row", "x_spec", "x_evidence", "x_priority", "x_withheld", "x_pinned", "x_only_claimed"];

/// What the importing store knows.
#[derive(Debug, Clone)]
pub struct ImportingStore<'a> {
    pub workspace: &'a str,
    pub corr: String,
    pub document_digest: &'a str,
    /// Who imports the bundle.
    pub by: &'a str,
    /// The token of the first grant.
    pub first_token: i64,
    pub max_parallel: usize,
}

/// Something that the bundle does not say, and what is assumed instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumed {
    /// Where it would be in the bundle.
    pub path: String,
    pub value: Value,
    pub reason: String,
}

/// A bundle that can be imported, and how it was completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    pub bundle: HandoffBundle,
    pub assumed: Vec<Assumed>,
    /// Paths of what was left out.
    pub ignored: Vec<String>,
}

/// Whether a bundle has none of the fields that `writ handoff export` adds.
pub fn is_foreign(handoff: &Handoff) -> bool {
    let has = |extra: &Map<String, Value>, own: &[&str]| own.iter().any(|name| extra.contains_key(*name));
    !has(&handoff.extra, OWN_FIELDS) && !handoff.ledger.iter().any(|row| has(&row.extra, OWN_ROW_FIELDS))
}

/// Completes a valid bundle of another program. Every row becomes a task; a task in progress gets an assignment with a
/// new token, and one that is done counts as claimed.
pub fn complete(handoff: &Handoff, receiver: &ImportingStore<'_>) -> Result<Completed, BundleFault> {
    let mut draft = BundleDraft { handoff, receiver, assumed: Vec::new(), ignored: Vec::new() };
    draft.note_ignored();
    let locks = draft.locks()?;
    let blockers = draft.blockers();
    let mut rows: Vec<(HandoffRow, CarriedRow)> = Vec::new();
    for (index, row) in handoff.ledger.iter().enumerate() {
        let reason = blockers.get(&row.task_id).map(|blocker| blocker.reason.clone());
        rows.push(draft.row(index, row, reason.unwrap_or_default())?);
    }
    rows.sort_by(|a, b| a.0.task_id.cmp(&b.0.task_id));
    let mut assignments = Vec::new();
    for (row, carried) in rows.iter().filter(|(row, _)| row.status == Status::InProgress) {
        assignments.push(draft.assignment(row, &carried.x_row.columns, &locks)?);
    }
    let is_begun = rows.iter().any(|(row, _)| row.status != Status::Todo);
    let fencing = locks.iter().filter_map(|lock| lock.x_fencing_token).max().unwrap_or(0);
    let (ledger, carried_rows): (Vec<HandoffRow>, Vec<CarriedRow>) = rows.into_iter().unzip();
    let x_run = RunPart {
        corr: receiver.corr.clone(),
        state: if is_begun { RunState::Running } else { RunState::Submitted },
        version: u64::try_from(ledger.len()).unwrap_or(u64::MAX),
        fencing: i64::try_from(fencing).unwrap_or(i64::MAX),
        max_parallel: receiver.max_parallel,
        document_digest: receiver.document_digest.to_owned(),
        intent: None,
    };
    let targets =
        ledger.iter().zip(&carried_rows).filter_map(|(row, carried)| target(row, carried)).collect();
    let completed = Handoff {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: handoff.run_id.clone(),
        generated_at: None,
        objective: handoff.objective.clone(),
        constraints: handoff.constraints.clone(),
        dependencies: ledger.iter().flat_map(pairs).collect(),
        open_blockers: blockers.into_values().collect(),
        acceptance_targets: targets,
        active_locks: locks,
        ledger,
        extra: Map::new(),
    };
    let carried = HandoffExtras {
        x_run,
        x_assignments: assignments,
        x_results: Vec::new(),
        x_worklogs: Vec::new(),
        x_applied: Vec::new(),
        x_budget: None,
        x_approvals: Vec::new(),
    };
    let bundle = HandoffBundle { handoff: completed, rows: carried_rows, carried };
    bundle.judge()?;
    Ok(Completed { bundle, assumed: draft.assumed, ignored: draft.ignored })
}

fn target(row: &HandoffRow, carried: &CarriedRow) -> Option<AcceptanceTarget> {
    let criteria = carried.x_row.columns.acceptance_criteria.clone()?;
    Some(AcceptanceTarget { task_id: row.task_id.clone(), criteria, extra: Map::new() })
}

fn pairs(row: &HandoffRow) -> Vec<Dependency> {
    let needed = row.dependencies.iter().flatten();
    let pair = |needed: &TaskRef| Dependency {
        task_id: row.task_id.clone(),
        depends_on_task_id: needed.clone(),
        extra: Map::new(),
    };
    needed.map(pair).collect()
}

/// The completion so far.
struct BundleDraft<'b> {
    handoff: &'b Handoff,
    receiver: &'b ImportingStore<'b>,
    assumed: Vec<Assumed>,
    ignored: Vec<String>,
}

impl BundleDraft<'_> {
    fn assume(&mut self, path: String, value: Value, reason: impl Into<String>) {
        self.assumed.push(Assumed { path, value, reason: reason.into() });
    }

    /// Fields that the contract does not know, and items about tasks that are not in the ledger.
    fn note_ignored(&mut self) {
        let handoff = self.handoff;
        let known: BTreeSet<&TaskRef> = handoff.ledger.iter().map(|row| &row.task_id).collect();
        self.ignored.extend(handoff.extra.keys().map(|name| format!("$.{name}")));
        for (index, row) in handoff.ledger.iter().enumerate() {
            self.ignored.extend(row.extra.keys().map(|name| format!("$.ledger[{index}].{name}")));
        }
        for (index, target) in handoff.acceptance_targets.iter().enumerate() {
            let path = format!("$.acceptance_targets[{index}]");
            if !known.contains(&target.task_id) {
                self.ignored.push(path.clone());
            }
            self.ignored.extend(target.extra.keys().map(|name| format!("{path}.{name}")));
        }
        for (index, pair) in handoff.dependencies.iter().enumerate() {
            self.ignored.extend(pair.extra.keys().map(|name| format!("$.dependencies[{index}].{name}")));
        }
    }

    /// The active locks, each grant with a new token. Released ones are history and stay behind.
    fn locks(&mut self) -> Result<Vec<Lock>, BundleFault> {
        let mut tokens: BTreeMap<&TaskRef, u64> = BTreeMap::new();
        let holders: BTreeSet<&TaskRef> =
            self.handoff.active_locks.iter().filter(|lock| lock.active).map(|lock| &lock.task_id).collect();
        for (index, holder) in holders.into_iter().enumerate() {
            let first = u64::try_from(self.receiver.first_token).unwrap_or(1);
            tokens.insert(holder, first.saturating_add(u64::try_from(index).unwrap_or(u64::MAX)));
        }
        let mut locks: Vec<Lock> = Vec::new();
        for (index, lock) in self.handoff.active_locks.iter().enumerate() {
            let path = format!("$.active_locks[{index}]");
            self.ignored.extend(lock.extra.keys().map(|name| format!("{path}.{name}")));
            if !lock.active {
                self.ignored.push(path);
                continue;
            }
            let resource = scope_at(&lock.resource, self.receiver.workspace, &format!("{path}.resource"))?;
            let row = self.handoff.ledger.iter().find(|row| row.task_id == lock.task_id);
            let timeout_ms = row.map_or(0, |row| row.timeout_seconds.saturating_mul(1000));
            let is_known =
                locks.iter().any(|held| held.task_id == lock.task_id && held.resource == resource.as_str());
            if is_known {
                self.ignored.push(path);
                continue;
            }
            locks.push(Lock {
                task_id: lock.task_id.clone(),
                resource: resource.to_string(),
                active: true,
                x_mode: Some(lock.x_mode.unwrap_or(LockMode::Exclusive)),
                x_fencing_token: tokens.get(&lock.task_id).copied(),
                extra: Map::from_iter([("x_timeout_ms".to_owned(), json!(timeout_ms))]),
            });
        }
        locks.sort_by(|a, b| (a.x_fencing_token, &a.resource).cmp(&(b.x_fencing_token, &b.resource)));
        Ok(locks)
    }

    /// One blocker for each task; the store keeps no more.
    fn blockers(&mut self) -> BTreeMap<TaskRef, Blocker> {
        let mut found: BTreeMap<TaskRef, Blocker> = BTreeMap::new();
        for (index, blocker) in self.handoff.open_blockers.iter().enumerate() {
            let is_in_ledger = self.handoff.ledger.iter().any(|row| row.task_id == blocker.task_id);
            if !is_in_ledger || found.contains_key(&blocker.task_id) {
                self.ignored.push(format!("$.open_blockers[{index}]"));
                continue;
            }
            found.insert(blocker.task_id.clone(), blocker.clone());
        }
        found
    }

    fn row(
        &mut self,
        index: usize,
        row: &HandoffRow,
        reason: String,
    ) -> Result<(HandoffRow, CarriedRow), BundleFault> {
        let path = format!("$.ledger[{index}]");
        let columns = self.columns(row);
        // In the form in which the store prints times.
        let heard = row.last_heartbeat_at.as_deref().and_then(Timestamp::parse_utc).map(|at| at.to_string());
        let mut x_row = CrewRow {
            status: row.status,
            owner: row.owner.clone(),
            reason,
            version: 0,
            retry_count: u64::from(row.status == Status::Blocked),
            last_heartbeat_at: heard.clone(),
            timed_out: None,
            retry_after_ms: None,
            x_retry_at: None,
            x_from_packet: Vec::new(),
            x_accepted: None,
            columns,
        };
        if x_row.columns.acceptance_criteria.is_none() && !row.status.is_terminal() {
            let criteria = vec![format!("{} is done", row.title)];
            let at = format!("$.acceptance_targets[{}]", row.task_id);
            self.assume(at, json!(criteria), "the bundle has no acceptance criteria for the task");
            x_row.columns.acceptance_criteria = Some(criteria);
            x_row.mark_from_packet("acceptance_criteria");
        }
        if row.status == Status::Done {
            let reason = "done in the imported bundle".to_owned();
            let by = self.receiver.by.to_owned();
            let accepted = Accepted { by, reason, acceptance_check: Vec::new(), checks: Vec::new() };
            self.assume(
                format!("{path}.x_accepted"),
                json!(accepted),
                "the bundle has no result of the task",
            );
            x_row.x_accepted = Some(accepted);
        }
        let spec = spec_of(&row.task_id, &x_row.columns, self.receiver.workspace)
            .map_err(|fault| scope_fault(fault, &format!("{path}.lock_scope")))?;
        let shown = HandoffRow {
            dependencies: Some(x_row.dependencies().to_vec()),
            last_heartbeat_at: heard,
            extra: Map::new(),
            ..row.clone()
        };
        let carried = CarriedRow {
            x_evidence: (row.status == Status::Done).then_some(Evidence::Claimed),
            x_priority: spec.priority.number(),
            x_spec: spec,
            x_row,
            x_withheld: Amount::default(),
            x_pinned: None,
            x_only_claimed: None,
        };
        Ok((shown, carried))
    }

    fn columns(&self, row: &HandoffRow) -> CrewColumns {
        let own = row.dependencies.iter().flatten().cloned();
        let pairs = self.handoff.dependencies.iter().filter(|pair| pair.task_id == row.task_id);
        let pairs = pairs.map(|pair| pair.depends_on_task_id.clone());
        let needed: BTreeSet<TaskRef> = own.chain(pairs).collect();
        let targets = self.handoff.acceptance_targets.iter().filter(|target| target.task_id == row.task_id);
        let criteria: Vec<String> = targets.flat_map(|target| target.criteria.clone()).collect();
        CrewColumns {
            title: Some(row.title.clone()),
            kind: None,
            dependencies: Some(needed.into_iter().collect()),
            lock_scope: Some(row.lock_scope.clone()).filter(|scopes| !scopes.is_empty()),
            timeout_seconds: Some(row.timeout_seconds),
            heartbeat_interval_seconds: Some(row.heartbeat_interval_seconds),
            priority: Some(row.priority),
            acceptance_criteria: Some(criteria).filter(|criteria| !criteria.is_empty()),
        }
    }

    /// The packet of a task in progress. Its worker continues with the token that the import returns.
    fn assignment(
        &mut self,
        row: &HandoffRow,
        columns: &CrewColumns,
        locks: &[Lock],
    ) -> Result<CarriedAssignment, BundleFault> {
        let own: Vec<&Lock> = locks.iter().filter(|lock| lock.task_id == row.task_id).collect();
        let token = own.first().and_then(|lock| lock.x_fencing_token).unwrap_or(0);
        let mut scopes: Vec<Scope> = Vec::new();
        let held = own.iter().map(|lock| &lock.resource);
        for text in row.lock_scope.iter().chain(held.filter(|_| row.lock_scope.is_empty())) {
            scopes.push(scope_at(text, self.receiver.workspace, "$.ledger.lock_scope")?);
        }
        scopes.sort();
        scopes.dedup();
        let all = scopes.clone();
        scopes.retain(|scope| !all.iter().any(|other| other != scope && other.contains(scope)));
        let packet = json!({
            "schema_version": SCHEMA_VERSION, "run_id": self.handoff.run_id, "packet_type": "assignment",
            "global_objective": self.handoff.objective,
            "task": {
                "task_id": row.task_id, "title": row.title, "type": "parallelizable",
                "dependencies": columns.dependencies, "lock_scope": scopes, "forbidden_scope": [],
                "acceptance_criteria": columns.acceptance_criteria,
                "worklog_path": format!("worklogs/{}.jsonl", row.task_id),
                "timeout_seconds": row.timeout_seconds,
                "heartbeat_interval_seconds": row.heartbeat_interval_seconds, "priority": row.priority,
            },
            "active_locks": [], "context_package": [], "required_output_schema": "subagent_result_v1",
            "x_fencing_token": token,
        });
        let reason = format!("{} is in progress; its worker continues with this token", row.task_id);
        self.assume(format!("$.x_assignments[{}]", row.task_id), packet.clone(), reason);
        let token = i64::try_from(token).unwrap_or(i64::MAX);
        let task_id = row.task_id.clone();
        let (ended, snapshot, reserved, token_hash) = (None, None, None, None);
        Ok(CarriedAssignment { task_id, token, packet, ended, snapshot, reserved, token_hash })
    }
}

fn scope_at(text: &str, workspace: &str, path: &str) -> Result<Scope, BundleFault> {
    Scope::parse(text, Some(workspace)).map_err(|fault| scope_fault(fault, path))
}

fn scope_fault(fault: ScopeFault, path: &str) -> BundleFault {
    let code = if fault == ScopeFault::Escape { Code::ScopeViolation } else { Code::SchemaInvalid };
    BundleFault::new(code, fault.rule(), path, format!("a scope {fault}"))
}
