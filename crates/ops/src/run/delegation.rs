//! Permission to delegate: for parents of submitted TASKs and for tasks that start runs.

use std::collections::BTreeMap;

use contract::aop::effective;
use contract::domain::code::ErrorCode;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::plan::Budget;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::intake::Intake;
use serde_json::Value;
use store::Tx;

use super::show::message_of;
use crate::context::Context;
use crate::crew::loans;
use crate::error::{Error, Result};

/// A TASK of the session in an earlier run.
struct Earlier {
    parent: Option<String>,
    status: Status,
    may_delegate: bool,
    depth: u32,
}

/// Judges the parents that the TASKs of a document name. Gives the depth of the run: one more than the deepest parent
/// in another run.
pub(super) fn depth(cx: &mut Context, intake: &Intake, started_at: u32) -> Result<u32> {
    let tasks: Vec<Option<&Value>> = intake.plan.tasks.iter().map(|task| task.aop.as_ref()).collect();
    let word = |task: Option<&Value>, pointer: &str| {
        task.and_then(|task| task.pointer(pointer)?.as_str()).map(str::to_owned)
    };
    let own: BTreeMap<String, usize> = tasks
        .iter()
        .enumerate()
        .filter_map(|(index, task)| Some((word(*task, "/task/task_id")?, index)))
        .collect();
    let parents: Vec<Option<String>> = tasks.iter().map(|task| word(*task, "/task/parent_task_id")).collect();
    let is_foreign = |parent: &Option<String>| parent.as_ref().is_some_and(|name| !own.contains_key(name));
    let mut depths: Vec<Option<u32>> = vec![None; tasks.len()];
    let mut deepest = started_at;
    if parents.iter().any(is_foreign) {
        let session_id = intake.session_id.clone().unwrap_or_default();
        let earlier = of_session(&cx.store.read()?, &session_id)?;
        for (index, parent) in parents.iter().enumerate().filter(|(_, parent)| is_foreign(parent)) {
            let parent = parent.as_deref().unwrap_or_default();
            let at = place(index, tasks.len());
            let depth =
                below(&earlier, parent, &session_id).map_err(|(code, why)| refusal(code, &at, &why))?;
            depths[index] = Some(depth);
            deepest = deepest.max(depth);
        }
    }
    for index in 0..tasks.len() {
        // Parents in the document were judged with it, so the way up ends.
        let (mut at, mut levels) = (index, 0);
        while let Some(&up) = parents[at].as_ref().and_then(|name| own.get(name)) {
            (at, levels) = (up, levels + 1);
        }
        let depth = depths[at].unwrap_or(started_at) + levels;
        // A run that is too deep as a whole is refused by its identity layer.
        if depth > limits::DELEGATION_DEPTH_MAX && started_at <= limits::DELEGATION_DEPTH_MAX {
            let why = format!("the TASK is at depth {depth}; the limit is {}", limits::DELEGATION_DEPTH_MAX);
            return Err(refusal(FailureCode::MaxDepthExceeded, &place(index, tasks.len()), &why));
        }
    }
    Ok(deepest)
}

/// How deep a child of this parent is.
fn below(
    earlier: &BTreeMap<String, Earlier>,
    parent: &str,
    session: &str,
) -> std::result::Result<u32, (FailureCode, String)> {
    let Some(found) = earlier.get(parent) else {
        let why =
            format!("no TASK `{parent}` is in this document or in an earlier run of the session {session}");
        return Err((FailureCode::DependencyFailed, why));
    };
    if !found.may_delegate {
        let why = format!("`{parent}` does not set constraints.delegation_allowed");
        return Err((FailureCode::PermissionDenied, why));
    }
    if matches!(found.status, Status::Failed | Status::Canceled) {
        return Err((FailureCode::DependencyFailed, format!("`{parent}` is {}", found.status)));
    }
    let (mut depth, mut at) = (found.depth + 1, found);
    while let Some(up) = at.parent.as_ref().and_then(|name| earlier.get(name)) {
        (depth, at) = (depth + 1, up);
        if depth > limits::DELEGATION_DEPTH_MAX {
            break;
        }
    }
    if depth > limits::DELEGATION_DEPTH_MAX {
        let most = limits::DELEGATION_DEPTH_MAX;
        return Err((FailureCode::MaxDepthExceeded, format!("a child of `{parent}` is deeper than {most}")));
    }
    Ok(depth)
}

/// The newest TASK of each id in the runs of a session.
fn of_session(tx: &Tx<'_>, session_id: &str) -> Result<BTreeMap<String, Earlier>> {
    let mut found = BTreeMap::new();
    for run in tx.runs_of_session(session_id, limits::SESSION_RUNS_MAX)? {
        for task in tx.tasks_of_run(&run.asked.id)? {
            let Some(message) = message_of(&task) else { continue };
            let Ok(message) = serde_json::from_value::<contract::aop::Task>(message.clone()) else {
                continue;
            };
            let earlier = Earlier {
                parent: message.task.parent_task_id.clone(),
                status: task.status,
                may_delegate: effective::may_delegate(&message),
                depth: 1,
            };
            found.entry(message.task.task_id).or_insert(earlier);
        }
    }
    Ok(found)
}

/// Refuses what the program of a task starts if its TASK forbids it.
pub(super) fn inside(cx: &mut Context, parent: &TaskId) -> Result<()> {
    let Some(task) = cx.store.read()?.task(parent)? else { return Ok(()) };
    let Some(part) = &task.part else { return Ok(()) };
    let message = part.spec.aop.clone().map(serde_json::from_value::<contract::aop::Task>);
    if let Some(Ok(message)) = message
        && !effective::may_delegate(&message)
    {
        let name = &message.task.task_id;
        let why =
            format!("the TASK `{name}` does not set constraints.delegation_allowed, so it starts no runs");
        return Err(Error::aop(ErrorCode::Denied, FailureCode::PermissionDenied, &why));
    }
    Ok(())
}

/// The budget of a run: no more than what the task that starts it has left.
pub(super) fn affordable(tx: &Tx<'_>, parent: Option<&TaskId>, budget: Budget) -> Result<Budget> {
    let Some(task) = parent.map(|id| tx.task(id)).transpose()?.flatten() else { return Ok(budget) };
    Ok(budget.within(loans::left(tx, &task)?))
}

fn place(index: usize, count: usize) -> String {
    if count > 1 { format!("$[{index}].task.parent_task_id") } else { "$.task.parent_task_id".to_owned() }
}

fn refusal(code: FailureCode, path: &str, why: &str) -> Error {
    let finding = serde_json::json!({"path": path, "rule": "delegation", "message": why});
    let details = serde_json::json!({"aop_code": code, "findings": [finding], "omitted": 0});
    Error::new(ErrorCode::InvalidInput, format!("{code}: {path}: {why}")).details(details)
}
