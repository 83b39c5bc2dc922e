//! Which rows of a ledger can be assigned now, and what the others wait for.

use contract::domain::crew::number_of;
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::status::Status;
use contract::domain::time::{Timestamp, human_duration};
use contract::operator::Code;
use contract::operator::ledger::Ledger;
use serde_json::json;

use super::denial::{denied, verdict};
use crate::error::{Error, Result};

/// Rows that wait for nothing: highest priority first, then by number.
pub(crate) fn ready(ledger: &Ledger, now: Timestamp) -> Vec<TaskRef> {
    let is_ready =
        |row: &CrewRow| row.status == Status::Todo && is_free(ledger, row) && row.wait_left(now).is_none();
    let mut found: Vec<(&TaskRef, &CrewRow)> = ledger.rows.iter().filter(|(_, row)| is_ready(row)).collect();
    found.sort_by_key(|(name, row)| {
        let priority = row.columns.priority.unwrap_or_default().number();
        (std::cmp::Reverse(priority), number_of(name).unwrap_or(i64::MAX), (*name).clone())
    });
    found.into_iter().map(|(name, _)| name.clone()).collect()
}

/// Whether everything that a row depends on is done.
pub(crate) fn is_free(ledger: &Ledger, row: &CrewRow) -> bool {
    let is_done = |name: &TaskRef| ledger.rows.get(name).is_some_and(|row| row.status == Status::Done);
    row.dependencies().iter().all(is_done)
}

/// Refuses a row before its `retry_after_ms` has passed.
pub(crate) fn refuse_early(name: &TaskRef, row: &CrewRow, now: Timestamp) -> Result<()> {
    let Some(left) = row.wait_left(now) else { return Ok(()) };
    let message = format!("{name} may be assigned again in {}", human_duration(left));
    let mut refusal = verdict(Code::DependencyNotMet, "retry_after", message);
    let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    refusal.details.more.insert("retry_after_ms".to_owned(), json!(millis));
    refusal.details.more.insert("retry_at".to_owned(), json!(row.x_retry_at));
    Err(denied(&refusal).hint("wait, or apply a delta with retry_after_ms 0"))
}

/// Why nothing can be assigned: how many rows wait, and for what.
pub(crate) fn nothing_ready(ledger: &Ledger, now: Timestamp) -> Error {
    let count = |is: &dyn Fn(&CrewRow) -> bool| ledger.rows.values().filter(|row| is(row)).count();
    let todo = |row: &CrewRow| row.status == Status::Todo;
    let early = count(&|row| todo(row) && is_free(ledger, row) && row.wait_left(now).is_some());
    let waiting = count(&|row| todo(row) && !is_free(ledger, row));
    let working = count(&|row| row.status == Status::InProgress);
    let blocked = count(&|row| row.status == Status::Blocked);
    let message = format!(
        "no task is ready: {working} in progress, {blocked} blocked, {waiting} with open dependencies, {early} to be \
         retried later"
    );
    let mut refusal = verdict(Code::DependencyNotMet, "nothing_ready", message);
    let facts =
        [("in_progress", working), ("blocked", blocked), ("waiting", waiting), ("retried_later", early)];
    for (name, count) in facts {
        refusal.details.more.insert(name.to_owned(), json!(count));
    }
    denied(&refusal)
}
