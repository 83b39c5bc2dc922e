//! A ledger and its locks, events, blockers and results, as far as they are readable.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::issue::{Issue, IssueRule};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::operator::document::objects;
use crate::operator::locks::{self, ParsedLock};
use crate::operator::options::Options;
use crate::operator::result;
use crate::operator::watchdog::seconds;

/// Everything to reconcile. A part that is `None` is absent and not checked.
#[derive(Debug)]
pub(crate) struct Records<'v> {
    pub(super) rows: Vec<LedgerRecord<'v>>,
    index: BTreeMap<&'v str, usize>,
    pub(super) unreadable: Vec<Issue>,
    locks: Option<Vec<ParsedLock<'v>>>,
    holders: BTreeSet<&'v str>,
    pub(super) events: Vec<(String, &'v str)>,
    blockers: Option<BTreeSet<&'v str>>,
    results: Option<BTreeSet<&'v str>>,
    pub(crate) now: Option<Timestamp>,
    /// Whether a task in progress must hold a lock, if the caller says so.
    pub(super) check_locks: Option<bool>,
    fold: bool,
}

/// One row of the ledger.
#[derive(Debug)]
pub(super) struct LedgerRecord<'v> {
    pub(super) path: String,
    pub(super) task_id: &'v str,
    /// `None` if it could not be read.
    pub(super) status: Option<Status>,
    pub(super) owner: &'v str,
    pub(super) dependencies: Vec<&'v str>,
    pub(super) has_lock_scope: bool,
    pub(super) timed_out: bool,
    pub(super) heartbeat: HeartbeatRecord,
    pub(super) timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum HeartbeatRecord {
    Absent,
    Null,
    Unreadable,
    At(Timestamp),
}

impl LedgerRecord<'_> {
    pub(super) fn issue(&self, rule: IssueRule, message: String) -> Issue {
        Issue::new(rule, self.task_id, &self.path, message)
    }
}

impl<'v> Records<'v> {
    pub(crate) fn of_ledger(ledger: &'v Value, options: &Options) -> Self {
        let mut records = Records {
            rows: Vec::new(),
            index: BTreeMap::new(),
            unreadable: Vec::new(),
            locks: None,
            holders: BTreeSet::new(),
            events: Vec::new(),
            blockers: None,
            results: None,
            now: options.now,
            check_locks: None,
            fold: options.fold,
        };
        for (index, row) in ledger.as_array().into_iter().flatten().enumerate() {
            records.add_row(row, format!("$.ledger[{index}]"));
        }
        records
    }

    fn add_row(&mut self, row: &'v Value, path: String) {
        let task_id = row.get("task_id").and_then(Value::as_str).unwrap_or("");
        let mut issue = |rule, message: &str| {
            self.unreadable.push(Issue::new(rule, task_id, &path, message.to_owned()));
        };
        if TaskRef::parse(task_id).is_none() {
            return issue(IssueRule::UnreadableRow, "the row does not name a task");
        }
        if self.index.contains_key(task_id) {
            return issue(IssueRule::DuplicateTask, "the task has a row above");
        }
        let status = row.get("status").and_then(Value::as_str).and_then(Status::parse);
        if status.is_none() {
            issue(IssueRule::UnreadableState, "the status is unknown");
        }
        let dependencies = match row.get("dependencies") {
            None => Some(Vec::new()),
            Some(list) => list.as_array().and_then(|items| items.iter().map(Value::as_str).collect()),
        };
        if dependencies.is_none() {
            issue(IssueRule::UnreadableState, "the dependencies are not a list of texts");
        }
        self.index.insert(task_id, self.rows.len());
        self.rows.push(LedgerRecord {
            path,
            task_id,
            status,
            owner: row.get("owner").and_then(Value::as_str).unwrap_or(""),
            dependencies: dependencies.unwrap_or_default(),
            has_lock_scope: row
                .get("lock_scope")
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty()),
            timed_out: row.get("timed_out") == Some(&Value::Bool(true)),
            heartbeat: heartbeat(row.get("last_heartbeat_at")),
            timeout: row.get("timeout_seconds").and_then(seconds),
        });
    }

    pub(crate) fn set_locks(&mut self, locks: Vec<ParsedLock<'v>>) {
        self.holders = locks.iter().filter(|lock| lock.active).map(|lock| lock.task_id).collect();
        self.locks = Some(locks);
    }

    /// Dependencies that are listed beside the rows, as pairs.
    pub(crate) fn add_dependencies(&mut self, pairs: &'v Value) {
        for (_, pair) in objects(pairs) {
            let text = |name: &str| pair.get(name).and_then(Value::as_str);
            let (Some(task_id), Some(dependency)) = (text("task_id"), text("depends_on_task_id")) else {
                continue;
            };
            let Some(at) = self.index.get(task_id) else {
                let message = format!("a dependency names {task_id}, which is not in the ledger");
                self.unreadable.push(Issue::new(
                    IssueRule::UnknownDependency,
                    task_id,
                    "$.dependencies",
                    message,
                ));
                continue;
            };
            self.rows[*at].dependencies.push(dependency);
        }
        for row in &mut self.rows {
            row.dependencies.sort_unstable();
            row.dependencies.dedup();
        }
    }

    pub(super) fn set_events(&mut self, events: &'v Value) {
        let task_id = |event: &'v Value| event.get("task_id").and_then(Value::as_str).unwrap_or("");
        let events = events.as_array().into_iter().flatten().enumerate();
        self.events =
            events.map(|(index, event)| (format!("$.events[{index}].task_id"), task_id(event))).collect();
    }

    pub(crate) fn set_blockers(&mut self, blockers: &'v Value) {
        if blockers.is_array() {
            self.blockers =
                Some(objects(blockers).filter_map(|(_, item)| item["task_id"].as_str()).collect());
        }
    }

    /// A whole result is validated here; for a summary, the caller has validated it.
    pub(super) fn set_results(&mut self, results: &'v Value, options: &Options) {
        if !results.is_array() {
            return;
        }
        let options = Options { assignment: None, ..*options };
        let counts = |item: &Value| {
            item["status"] == "done"
                && (item.get("schema_version").is_none() || result::examine(item, &options).is_clean())
        };
        let done = objects(results).filter(|(_, item)| counts(item));
        self.results = Some(done.filter_map(|(_, item)| item["task_id"].as_str()).collect());
    }

    pub(super) fn row(&self, task_id: &str) -> Option<&LedgerRecord<'v>> {
        self.index.get(task_id).map(|at| &self.rows[*at])
    }

    pub(super) fn lacks_blocker(&self, task_id: &str) -> bool {
        self.blockers.as_ref().is_some_and(|blockers| !blockers.contains(task_id))
    }

    pub(super) fn lacks_result(&self, task_id: &str) -> bool {
        self.results.as_ref().is_some_and(|results| !results.contains(task_id))
    }

    pub(super) fn lacks_lock(&self, task_id: &str) -> bool {
        self.locks.is_some() && !self.holders.contains(task_id)
    }

    pub(super) fn active_locks(&self) -> impl Iterator<Item = &ParsedLock<'v>> {
        self.locks.iter().flatten().filter(|lock| lock.active)
    }

    /// Active locks of different tasks that overlap, in pairs.
    pub(super) fn overlaps(&self) -> Vec<(&ParsedLock<'v>, &ParsedLock<'v>)> {
        let locks = self.locks.as_deref().unwrap_or(&[]);
        locks::overlapping_pairs(locks, self.fold, limits::FINDINGS_MAX)
    }
}

fn heartbeat(value: Option<&Value>) -> HeartbeatRecord {
    match value {
        None => HeartbeatRecord::Absent,
        Some(Value::Null) => HeartbeatRecord::Null,
        Some(value) => value
            .as_str()
            .and_then(Timestamp::parse_utc)
            .map_or(HeartbeatRecord::Unreadable, HeartbeatRecord::At),
    }
}
