//! Judges the packet of an assignment before anything is locked.

use contract::domain::task::Task;
use contract::operator::{Assignment, Code, Options, read_assignment};
use serde_json::{Value, json};

use super::{AssignmentDraft, active_locks};
use crate::crew::conditions::checks;
use crate::crew::denial::{denied, deny};
use crate::crew::ledger_state::LedgerState;
use crate::crew::paths::real_scopes;
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;

/// Validates the packet as it will be sent.
pub(super) fn judged(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    view: &HostView,
    draft: &mut AssignmentDraft,
    task: &Task,
) -> Result<Assignment> {
    draft.packet["active_locks"] = active_locks(work, state)?;
    let own = checks(task);
    if draft.packet["task"]["x_checks"].as_array().is_some_and(|given| !given.is_empty() && *given != own) {
        let message = "checks come from the plan; an orchestrator cannot add commands";
        return Err(deny(Code::NonCompliant, "checks_of_another", message));
    }
    if !own.is_empty() {
        draft.packet["task"]["x_checks"] = json!(own);
    }
    let root = state.run.asked.workspace.clone();
    let task = &draft.packet["task"];
    let lists = [&task["lock_scope"], &task["forbidden_scope"]].into_iter().filter_map(Value::as_array);
    let paths = lists.flatten().chain([&task["worklog_path"]]).filter_map(Value::as_str);
    let links = view.links(&root, &paths.collect::<Vec<_>>())?;
    let options = Options {
        root: Some(&root),
        links: Some(links),
        fold: view.folds_case(&root)?,
        ..Options::default()
    };
    let read = read_assignment(draft.packet.to_string().as_bytes(), &options);
    let (assignment, _) = read.map_err(|refusal| denied(&refusal))?;
    if assignment.task.task_id != draft.reference {
        return Err(deny(Code::NonCompliant, "identity_mismatch", "the packet is for another task"));
    }
    within_row(state, view, &assignment)?;
    crate::worklog::place::refuse_wide(work, state, view, &assignment)?;
    Ok(assignment)
}

/// A packet may only narrow the lock scope of its row.
fn within_row(state: &LedgerState, view: &HostView, assignment: &Assignment) -> Result<()> {
    let row = state.row(&assignment.task.task_id)?;
    let Some(allowed) = &row.columns.lock_scope else { return Ok(()) };
    let root = &state.run.asked.workspace;
    let allowed = real_scopes(view, root, allowed)?;
    let asked = real_scopes(view, root, &assignment.task.lock_scope)?;
    match asked.iter().find(|scope| !allowed.iter().any(|outer| outer.contains(scope))) {
        Some(outside) => {
            let message = format!("`{outside}` is not in the lock scope of {}", assignment.task.task_id);
            Err(deny(Code::ScopeViolation, "outside_lock_scope", message))
        }
        None => Ok(()),
    }
}
