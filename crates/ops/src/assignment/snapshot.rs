//! Records the files in the scope of an assignment before its worker begins.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::lock::LockRefusal;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::pins;
use contract::domain::scope::{Links, Scope};
use contract::domain::text::counted;
use store::{AssignmentRow, Tx};

use crate::context::{Caller, Context};
use crate::crew::denial::refused;
use crate::crew::meanwhile;
use crate::crew::paths::resolve;
use crate::error::Result;
use crate::host::{HostView, WatchedScopes};
use crate::record::EventWriter;

/// Takes the snapshot of an open assignment that has none: its scope is locked, and the worker does not have the packet
/// yet. Repeating an interrupted call takes the missing snapshot.
pub(crate) fn take(cx: &mut Context, caller: &Caller, token: i64) -> Result<()> {
    pin_checks(cx, caller, token)?;
    let Some((root, watched, oldest_grant)) = missing(cx, token)? else { return Ok(()) };
    let snapshot = cx.host().begin_watch(&root, &watch_name(token), &watched);
    keep(cx, caller, token, &Snapshot { oldest_grant: Some(oldest_grant), ..snapshot })
}

/// Records the files that the checks of an assigned task use, unless they are recorded.
fn pin_checks(cx: &mut Context, caller: &Caller, token: i64) -> Result<()> {
    let tx = cx.store.read()?;
    // With a snapshot the worker has its packet: the files may already be its work.
    let untold = |open: &AssignmentRow| open.ended.is_none() && open.snapshot.is_none();
    let Some(open) = tx.assignment(token)?.filter(untold) else { return Ok(()) };
    let task = crate::task::required(&tx, open.task_id.as_str())?;
    let Some(part) = task.part.as_ref().filter(|_| task.pinned.is_none() && task.has_checks()) else {
        return Ok(());
    };
    let run = crate::run::required(&tx, &part.run_id)?.asked;
    let paths = crate::checking::pinnable(&part.spec, &run);
    drop(tx);
    if part.spec.checks_may_change || paths.is_empty() {
        return Ok(());
    }
    let found = cx.host().digests(&run.workspace, &paths.keys().map(String::as_str).collect::<Vec<_>>());
    let files = pins::baseline(&paths, &found);
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let task = crate::task::required(&tx, open.task_id.as_str())?;
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &HostView::default() };
    crate::checking::pin(&mut work, &task, &files)?;
    Ok(tx.commit()?)
}

/// The name under which the workspace before an assignment is kept.
pub(crate) fn watch_name(token: i64) -> String {
    format!("assignment-{token}")
}

/// The workspace of an open assignment without a snapshot, what is watched there, and the oldest grant around it.
fn missing(cx: &mut Context, token: i64) -> Result<Option<(String, WatchedScopes, i64)>> {
    let found = {
        let tx = cx.store.read()?;
        let open = tx.assignment(token)?.filter(|open| open.snapshot.is_none() && open.ended.is_none());
        match open {
            Some(open) => locked_scopes(&tx, &open)?.map(|(root, scopes)| (root, scopes, open)),
            None => None,
        }
    };
    let Some((root, scopes, open)) = found else { return Ok(None) };
    let watched = watched(cx, &root, scopes, &open)?;
    let oldest_grant = meanwhile::oldest_grant(&cx.store.read()?, &root)?;
    Ok(Some((root, watched, oldest_grant)))
}

/// What is looked at for an assignment: what it locks, and what its author forbids.
pub(crate) fn watched(
    cx: &mut Context,
    root: &str,
    scopes: Vec<Scope>,
    assignment: &AssignmentRow,
) -> Result<WatchedScopes> {
    let forbidden = assignment.packet["task"]["forbidden_scope"].as_array().into_iter().flatten();
    let forbidden: Vec<String> = forbidden.filter_map(|path| path.as_str().map(str::to_owned)).collect();
    let texts: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    let links = if texts.is_empty() { Links::new() } else { cx.host().links(root, &texts) };
    let task = crate::task::required(&cx.store.read()?, assignment.task_id.as_str())?;
    Ok(WatchedScopes {
        scopes,
        forbidden: resolve(&links, root, &forbidden)?,
        scratch: task.part.map(|part| part.spec.scratch).unwrap_or_default(),
    })
}

/// The workspace and the scopes that an assignment locks: what is digested before its worker begins, and again when its
/// result arrives.
pub(crate) fn locked_scopes(tx: &Tx<'_>, assignment: &AssignmentRow) -> Result<Option<(String, Vec<Scope>)>> {
    let mut held = tx.locks_of_task(&assignment.task_id)?;
    held.retain(|lock| lock.token == assignment.token);
    let root = held.first().map(|lock| lock.workspace.clone());
    Ok(root.map(|root| (root, held.into_iter().map(|lock| lock.scope).collect())))
}

/// Keeps the snapshot of an open assignment. The first one counts; a second one changes nothing.
fn keep(cx: &mut Context, caller: &Caller, token: i64, snapshot: &Snapshot) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let open = tx.assignment(token)?.ok_or_else(|| refused(LockRefusal::StaleToken))?;
    if open.snapshot.is_some() || open.ended.is_some() {
        return Ok(());
    }
    let task = crate::task::required(&tx, open.task_id.as_str())?;
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &HostView::default() };
    let about = crate::task::about(&tx, &task)?;
    let taken = CrewChange::SnapshotTaken {
        token,
        run_id: open.run_id,
        task_id: open.task_id,
        snapshot: snapshot.clone(),
    };
    let message = format!("{} in scope before token {token}", counted(snapshot.files.len(), "file"));
    work.change(&about, &message, &Change::Crew(taken))?;
    Ok(tx.commit()?)
}
