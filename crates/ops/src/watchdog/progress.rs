//! Finds workers that send heartbeats and change nothing: no event, no worklog line, no changed file for a whole timeout.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::digest;
use contract::domain::crew::lock::HeldLock;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::operator::Code;
use contract::operator::watchdog::{WorkerProgress, progress};
use serde_json::{Value, json};
use store::{AssignmentRow, EventFilter, Tx};

use crate::assignment::snapshot::locked_scopes;
use crate::context::{Caller, Context};
use crate::crew::ledger_state::reference_of_task;
use crate::error::Result;
use crate::host::HostView;
use crate::record::{EventBody, EventWriter};

/// The event that records a changed digest; it counts as a sign of progress like any other.
const KIND: &str = "progress";

/// An assignment without an event for a whole timeout, and the digest of its scope when it was last seen.
struct Quiet {
    open: AssignmentRow,
    name: TaskRef,
    root: String,
    scopes: Vec<Scope>,
    age: Duration,
    digest: Option<String>,
}

/// What a sweep found about progress.
#[derive(Default)]
pub(super) struct Looked {
    /// The assignments without progress.
    pub(super) findings: Vec<Value>,
    /// Assignments that were left out, because there are too many workspaces.
    pub(super) left: usize,
}

/// Looks at the assignments of a run, or of all, once at each workspace. Changed files are recorded as an event,
/// and the next timeout counts from there.
pub(super) fn look(cx: &mut Context, caller: &Caller, run: Option<&RunId>) -> Result<Looked> {
    let mut by_root: BTreeMap<String, Vec<Quiet>> = BTreeMap::new();
    for seen in quiet(cx, run)? {
        by_root.entry(seen.root.clone()).or_default().push(seen);
    }
    let host = cx.host();
    let (mut looked, mut changed) = (Looked::default(), Vec::new());
    for (number, (root, quiet)) in by_root.into_iter().enumerate() {
        if number >= limits::WATCHED_WORKSPACES_MAX {
            looked.left += quiet.len();
            continue;
        }
        let scopes: Vec<&[Scope]> = quiet.iter().map(|seen| seen.scopes.as_slice()).collect();
        for (snapshot, seen) in host.snapshots(&root, &scopes).iter().zip(quiet) {
            // A scope that is too large to be digested proves nothing.
            let Some(digest) = digest_of(snapshot) else { continue };
            match progress(seen.digest.as_deref(), &digest) {
                WorkerProgress::Changed => changed.push((seen, digest)),
                WorkerProgress::None => looked.findings.push(finding(&seen)),
            }
        }
    }
    record(cx, caller, &changed)?;
    Ok(looked)
}

fn digest_of(snapshot: &Snapshot) -> Option<String> {
    if snapshot.is_partial { None } else { digest::of_value(&snapshot.files).ok() }
}

fn quiet(cx: &mut Context, run: Option<&RunId>) -> Result<Vec<Quiet>> {
    let tx = cx.store.read()?;
    let now = cx.clock.now();
    let held = match run {
        Some(run) => tx.active_locks_of_run(run)?,
        None => tx.active_locks(usize::MAX)?,
    };
    let live: BTreeMap<i64, HeldLock> =
        held.into_iter().filter(|lock| lock.lease.is_live(&now)).map(|lock| (lock.token, lock)).collect();
    let mut found = Vec::new();
    for lock in live.into_values() {
        let age = match newest(&tx, &lock, None)? {
            Some(event) => now.at.since(contract::domain::time::Timestamp::from_millis(event.record.at)),
            None => continue,
        };
        if age < Duration::from_millis(lock.timeout_ms) {
            continue;
        }
        let Some(open) = tx.assignment(lock.token)?.filter(|open| open.ended.is_none()) else { continue };
        let Some((root, scopes)) = locked_scopes(&tx, &open)? else { continue };
        let digest = match newest(&tx, &lock, Some(KIND))? {
            Some(event) if event.record.payload["token"] == lock.token => {
                event.record.payload["digest"].as_str().map(str::to_owned)
            }
            _ => open.snapshot.as_ref().and_then(digest_of),
        };
        let name = reference_of_task(&tx, &crate::task::required(&tx, open.task_id.as_str())?)?;
        found.push(Quiet { open, name, root, scopes, age, digest });
    }
    Ok(found)
}

/// The newest event of the task, of any kind or of one.
fn newest(tx: &Tx<'_>, lock: &HeldLock, kind: Option<&str>) -> Result<Option<store::LoggedEvent>> {
    // Agents use the same kind for their own notes.
    let (own, kinds) = (kind.is_some(), kind.into_iter().map(str::to_owned).collect());
    let task_id = Some(lock.task_id.to_string());
    let filter = EventFilter { task_id, kinds, own, limit: 1, ..EventFilter::default() };
    Ok(tx.events(&filter)?.pop())
}

fn record(cx: &mut Context, caller: &Caller, changed: &[(Quiet, String)]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &HostView::default() };
    for (seen, digest) in changed {
        let task = crate::task::required(&tx, seen.open.task_id.as_str())?;
        let about = crate::task::about(&tx, &task)?;
        let payload = json!({"token": seen.open.token, "digest": digest});
        work.say(&about, EventBody::event(KIND, "Files in scope changed", payload))?;
    }
    Ok(tx.commit()?)
}

fn finding(seen: &Quiet) -> Value {
    let seconds = seen.age.as_secs();
    json!({
        "run_id": seen.open.run_id.uuid(), "task_id": seen.name, "token": seen.open.token,
        "code": Code::TaskTimeout, "rule": "no_progress", "age_seconds": seconds,
        "reason": format!("sends heartbeats, but for {seconds} s there was no event, no worklog line and no changed file"),
    })
}
