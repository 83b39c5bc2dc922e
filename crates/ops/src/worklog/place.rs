//! Where a worklog may be kept: in one file that no other task writes.

use std::time::Duration;

use contract::domain::crew::lock::Wanted;
use contract::domain::scope::Scope;
use contract::domain::task::Task;
use contract::operator::{Assignment, Code, Mode, TaskRef};

use crate::crew::denial::deny;
use crate::crew::grants::{self, LockRequest};
use crate::crew::paths::real_scopes;
use crate::crew::sheet::Sheet;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::EventWriter;

/// What is to be kept where.
struct Place<'a> {
    worklog: Scope,
    /// What the task may write anyway.
    own: Vec<Scope>,
    name: &'a TaskRef,
    fold: bool,
}

/// Refuses a packet whose worklog is no single file of its own: it is exempt from the task's locks, so it must not
/// reach further than that.
pub(crate) fn refuse_wide(
    work: &EventWriter<'_, '_>,
    sheet: &Sheet,
    view: &HostView,
    assignment: &Assignment,
) -> Result<()> {
    let root = &sheet.run.asked.workspace;
    let given = &assignment.task.worklog_path;
    let real = real_scopes(view, root, std::slice::from_ref(given))?;
    let worklog = real.into_iter().next().expect("BUG: one path has one name");
    let own = real_scopes(view, root, &assignment.task.lock_scope)?;
    let place = Place { worklog, own, name: &assignment.task.task_id, fold: view.folds_case(root)? };
    let holds_scope = place.own.iter().any(|scope| *scope != place.worklog && place.worklog.contains(scope));
    let is_file = !is_whole(&place.worklog) && !given.trim().ends_with(['/', '\\']) && !holds_scope;
    if !is_file || view.is_directory(root, place.worklog.as_str())? {
        return Err(refused(&place, Code::ScopeViolation, "worklog_not_a_file", "is a directory"));
    }
    refuse_locked(work, sheet, &place)?;
    for (other, task) in &sheet.tasks {
        if other != place.name && !task.status.is_terminal() {
            refuse_shared(work, sheet, view, &place, (other, task))?;
        }
    }
    Ok(())
}

fn is_whole(scope: &Scope) -> bool {
    scope.as_str() == "."
}

/// Nobody else holds a lock there.
fn refuse_locked(work: &EventWriter<'_, '_>, sheet: &Sheet, place: &Place<'_>) -> Result<()> {
    let asked = LockRequest {
        run: &sheet.run,
        task: sheet.task(place.name)?,
        reference: place.name,
        scopes: vec![Wanted { scope: place.worklog.clone(), mode: Mode::Exclusive }],
        timeout: Duration::ZERO,
        fold: place.fold,
    };
    match grants::find_obstacle(work.tx, &asked)? {
        Some(obstacle) => Err(grants::conflict(&sheet.run, place.name, &obstacle)),
        None => Ok(()),
    }
}

/// Nobody else keeps a worklog there, and nobody else will write there.
fn refuse_shared(
    work: &EventWriter<'_, '_>,
    sheet: &Sheet,
    view: &HostView,
    place: &Place<'_>,
    (other, task): (&TaskRef, &Task),
) -> Result<()> {
    let root = &sheet.run.asked.workspace;
    let log = &place.worklog;
    let crosses =
        |scope: &Scope| if place.fold { scope.overlaps_ignoring_case(log) } else { scope.overlaps(log) };
    // A path of another task that leads nowhere is told when that task is given out.
    let real = |paths: &[String]| real_scopes(view, root, paths).unwrap_or_default();
    let open = work.tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none());
    let kept = open.and_then(|open| open.packet["task"]["worklog_path"].as_str().map(str::to_owned));
    if kept.is_some_and(|path| real(&[path]).iter().any(crosses)) {
        let problem = format!("is kept by {other}");
        return Err(refused(place, Code::LockConflict, "active_lock", &problem));
    }
    // Where a task may write, it may keep its worklog; and what needs the whole workspace is never out beside it.
    let is_own = place.own.iter().any(|scope| scope.contains(&place.worklog));
    let scopes = real(sheet.row(other)?.columns.lock_scope.as_deref().unwrap_or_default());
    if !is_own && scopes.iter().any(|scope| !is_whole(scope) && crosses(scope)) {
        let problem = format!("is in the lock scope of {other}");
        return Err(refused(place, Code::ScopeViolation, "worklog_in_other_scope", &problem));
    }
    Ok(())
}

fn refused(place: &Place<'_>, code: Code, rule: &'static str, problem: &str) -> Error {
    let message = format!("$.task.worklog_path: `{}` {problem}", place.worklog);
    let usual = super::default_path(place.name);
    deny(code, rule, message).hint(format!("name one file that only {} writes, such as {usual}", place.name))
}
