//! Where a worklog may be: in one file that no other task writes.

use std::time::Duration;

use contract::domain::crew::lock::{LockMode, WantedLock};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::scope::Scope;
use contract::domain::task::Task;
use contract::operator::{Assignment, Code};

use crate::crew::conflict;
use crate::crew::denial::deny;
use crate::crew::grants::{self, LockRequest};
use crate::crew::ledger_state::LedgerState;
use crate::crew::paths::real_scopes;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::EventWriter;

/// A worklog's file, and what decides whether it may be there.
struct WorklogPath<'a> {
    worklog: Scope,
    /// What the task may write in any case.
    own: Vec<Scope>,
    name: &'a TaskRef,
    fold: bool,
}

/// Refuses a worklog path that covers more than one file: the worklog is exempt from the task's locks.
pub(crate) fn refuse_wide(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    view: &HostView,
    assignment: &Assignment,
) -> Result<()> {
    let root = &state.run.asked.workspace;
    let given = &assignment.task.worklog_path;
    let real = real_scopes(view, root, std::slice::from_ref(given))?;
    let worklog = real.into_iter().next().expect("BUG: one path has one name");
    let own = real_scopes(view, root, &assignment.task.lock_scope)?;
    let place = WorklogPath { worklog, own, name: &assignment.task.task_id, fold: view.folds_case(root)? };
    let holds_scope = place.own.iter().any(|scope| *scope != place.worklog && place.worklog.contains(scope));
    let is_file = !is_whole(&place.worklog) && !given.trim().ends_with(['/', '\\']) && !holds_scope;
    if !is_file || view.is_directory(root, place.worklog.as_str())? {
        return Err(refused(&place, Code::ScopeViolation, "worklog_not_a_file", "is a directory"));
    }
    refuse_locked(work, state, &place)?;
    for (other, task) in &state.tasks {
        if other != place.name && !task.status.is_terminal() {
            refuse_shared(work, state, view, &place, (other, task))?;
        }
    }
    Ok(())
}

fn is_whole(scope: &Scope) -> bool {
    scope.as_str() == "."
}

/// No other task may hold a lock there.
fn refuse_locked(work: &EventWriter<'_, '_>, state: &LedgerState, place: &WorklogPath<'_>) -> Result<()> {
    let asked = LockRequest {
        run: &state.run,
        task: state.task(place.name)?,
        reference: place.name,
        scopes: vec![WantedLock { scope: place.worklog.clone(), mode: LockMode::Exclusive }],
        timeout: Duration::ZERO,
        fold: place.fold,
        holder: None,
    };
    match grants::find_conflict(work.tx, &asked)? {
        Some(conflict) => Err(conflict::refusal(&state.run, place.name, &conflict)),
        None => Ok(()),
    }
}

/// No other task may have its worklog there, or write there.
fn refuse_shared(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    view: &HostView,
    place: &WorklogPath<'_>,
    (other, task): (&TaskRef, &Task),
) -> Result<()> {
    let root = &state.run.asked.workspace;
    let log = &place.worklog;
    let crosses =
        |scope: &Scope| if place.fold { scope.overlaps_ignoring_case(log) } else { scope.overlaps(log) };
    // An invalid path of another task is reported when that task is assigned.
    let real = |paths: &[String]| real_scopes(view, root, paths).unwrap_or_default();
    let open = work.tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none());
    let kept = open.and_then(|open| open.packet["task"]["worklog_path"].as_str().map(str::to_owned));
    if kept.is_some_and(|path| real(&[path]).iter().any(crosses)) {
        let problem = format!("is the worklog of {other}");
        return Err(refused(place, Code::LockConflict, "active_lock", &problem));
    }
    // Where a task may write, its worklog may be; and a task that needs the whole workspace never runs beside it.
    let is_own = place.own.iter().any(|scope| scope.contains(&place.worklog));
    let scopes = real(state.row(other)?.columns.lock_scope.as_deref().unwrap_or_default());
    if !is_own && scopes.iter().any(|scope| !is_whole(scope) && crosses(scope)) {
        let problem = format!("is in the lock scope of {other}");
        return Err(refused(place, Code::ScopeViolation, "worklog_in_other_scope", &problem));
    }
    Ok(())
}

fn refused(place: &WorklogPath<'_>, code: Code, rule: &'static str, problem: &str) -> Error {
    let message = format!("$.task.worklog_path: `{}` {problem}", place.worklog);
    let name = place.name;
    deny(code, rule, message)
        .hint(format!("name one file that only {name} writes, such as worklogs/RUN/{name}.jsonl"))
}
