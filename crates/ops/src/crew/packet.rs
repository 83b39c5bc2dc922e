//! Issues an assignment: locks, budget, approval and packet, all or nothing.

mod judging;

use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::Amount;
use contract::domain::crew::lock::{LockMode, LockRefusal, WantedLock};
use contract::domain::crew::row::TaskType;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::{ASSIGNMENT_DATA, Assignment, Code, Delta, DeltaOptions, untrusted};
use serde_json::{Value, json};

use super::admission::{AdmissionRequest, admit};
use super::conditions::begin_run;
use super::denial::{denied, deny, refused};
use super::grants::LockRequest;
use super::ledger_state::LedgerState;
use super::owner::refuse_owner;
use super::paths::real_scopes;
use super::ready::refuse_early;
use super::rows::{self, TransitionContext};
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;
use judging::judged;

/// An assignment to be issued. The store adds the locks and the token to the packet.
pub(crate) struct AssignmentDraft {
    pub(crate) reference: TaskRef,
    pub(crate) packet: Value,
    pub(crate) owner: String,
    /// What the worker may spend.
    pub(crate) share: Option<Amount>,
}

/// An assignment that was issued.
pub(crate) struct IssuedPacket {
    pub(crate) token: i64,
    pub(crate) packet: Value,
    pub(crate) reserved: Option<Amount>,
}

/// Issues an assignment. The caller reconciles the ledger afterwards, in the same transaction.
pub(crate) fn issue_packet(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    view: &HostView,
    mut draft: AssignmentDraft,
) -> Result<IssuedPacket> {
    let reference = draft.reference.clone();
    let task = state.task(&reference)?.clone();
    refuse_second(work, &task, &reference)?;
    refuse_early(&reference, state.row(&reference)?, work.now.at)?;
    refuse_owner(&draft.owner)?;
    let assignment = judged(work, state, view, &mut draft, &task)?;
    let delta = step_to_work(work, state, &draft)?;
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let locks = LockRequest {
        run: &state.run,
        task: &task,
        reference: &reference,
        scopes: wanted(view, state, &assignment)?,
        timeout: Duration::from_secs(assignment.task.timeout_seconds),
        fold,
        holder: None,
    };
    if locks.scopes.is_empty() {
        return Err(refused(LockRefusal::Nothing));
    }
    let admission = admit(work, AdmissionRequest { locks, share: draft.share })?
        .map_err(|obstacle| obstacle.refusal(&state.run, &reference))?;
    let token = admission.token.expect("BUG: something was locked");
    begin_run(work, state)?;
    if task.status != Status::InProgress {
        let delta = Delta { delta_id: format!("writ:issue:{token}"), ..delta };
        rows::step(work, state, &delta, TransitionContext::NOTHING)?;
    }
    work.tx.record_heartbeat(&task.id, work.now)?;
    state
        .heard
        .insert(reference.clone(), store::LastHeartbeat { at: work.now.at, boot: work.now.boot.clone() });
    let mut packet = draft.packet;
    packet["x_fencing_token"] = json!(token);
    packet["active_locks"] = active_locks(work, state)?;
    packet["x_untrusted"] = untrusted(ASSIGNMENT_DATA);
    let issued = CrewChange::AssignmentIssued {
        token,
        run_id: state.run.asked.id.clone(),
        task_id: task.id.clone(),
        packet: packet.clone(),
        token_hash: None,
    };
    let message = format!("{reference} assigned to {} with token {}", draft.owner, token);
    work.change(&rows::about(state, &task), &message, &Change::Crew(issued))?;
    Ok(IssuedPacket { token, packet, reserved: admission.reserved })
}

/// Refuses a task that has an open assignment.
fn refuse_second(work: &EventWriter<'_, '_>, task: &Task, reference: &TaskRef) -> Result<()> {
    match work.tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none()) {
        Some(open) => {
            let message = format!("{reference} is already assigned, with token {}", open.token);
            Err(deny(Code::ConcurrencyConflict, "already_assigned", message))
        }
        None => Ok(()),
    }
}

/// The scopes to lock. A serial task locks the whole workspace.
fn wanted(view: &HostView, state: &LedgerState, assignment: &Assignment) -> Result<Vec<WantedLock>> {
    let mode = LockMode::Exclusive;
    if assignment.task.kind == TaskType::Serial {
        let scope = Scope::parse(".", None).expect("BUG: the workspace is a scope");
        return Ok(vec![WantedLock { scope, mode }]);
    }
    let scopes = real_scopes(view, &state.run.asked.workspace, &assignment.task.lock_scope)?;
    Ok(scopes.into_iter().map(|scope| WantedLock { scope, mode }).collect())
}

/// The delta to `in_progress`, checked before anything is granted: state machine, dependencies and owner.
fn step_to_work(work: &EventWriter<'_, '_>, state: &LedgerState, draft: &AssignmentDraft) -> Result<Delta> {
    let delta = Delta {
        owner: draft.owner.clone(),
        reason: "assigned".to_owned(),
        delta_id: "writ:issue".to_owned(),
        last_heartbeat_at: Some(work.now.at.to_string()),
        timed_out: Some(false),
        ..Delta::blank(draft.reference.clone(), Status::InProgress)
    };
    let mut tried = state.ledger.clone();
    tried.applied.clear();
    tried.apply(std::slice::from_ref(&delta), DeltaOptions::default()).map_err(|refusal| denied(&refusal))?;
    Ok(delta)
}

fn active_locks(work: &EventWriter<'_, '_>, state: &LedgerState) -> Result<Value> {
    let locks = work.tx.active_locks_of_run(&state.run.asked.id)?;
    let value = |lock: &contract::domain::crew::lock::HeldLock| {
        json!({"task_id": lock.reference, "resource": lock.scope, "active": true, "x_mode": lock.mode,
               "x_fencing_token": lock.token})
    };
    Ok(locks.iter().map(value).collect())
}
