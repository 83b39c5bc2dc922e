//! Writes rows of a ledger: deltas in order, once each, all or nothing. The tasks move with their rows.

use std::collections::BTreeMap;

use contract::digest;
use contract::domain::change::Change;
use contract::domain::crew::spec::spec_of;
use contract::domain::crew::{AppliedDelta, CrewChange, Ended, number_of, unnumbered};
use contract::domain::id::mint;
use contract::domain::status::Status;
use contract::domain::task::{Command, PlanPart, Rules, Task};
use contract::operator::delta::Columns;
use contract::operator::ledger::{Ignored, Row};
use contract::operator::{Blocker, Code, Delta, DeltaOptions, TaskRef};

use super::blockers::settle_blocker;
use super::denial::{denied, deny};
use super::done::{self, ChecksSeen};
use super::ledger_state::LedgerState;
use crate::error::Result;
use crate::record::{About, EventWriter};

/// What a delta does not say about a transition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransitionContext {
    /// writ itself ran the task's checks and they passed.
    pub(crate) verified: bool,
    /// How an open assignment ends.
    pub(crate) ended: Ended,
    pub(crate) spent: Option<contract::domain::crew::budget::Amount>,
}

impl TransitionContext {
    pub(crate) const NOTHING: TransitionContext =
        TransitionContext { verified: false, ended: Ended::Withdrawn, spent: None };
}

/// The deltas of one envelope, and what else decides about them.
pub(crate) struct DeltaStream<'e> {
    pub(crate) deltas: &'e [Delta],
    pub(crate) blockers: &'e [Blocker],
    pub(crate) options: DeltaOptions,
    /// What the envelope's packets say about their tasks.
    pub(crate) packets: &'e BTreeMap<TaskRef, Columns>,
    /// The checks of tasks that are to be done, as writ saw them.
    pub(crate) checks: &'e ChecksSeen,
}

/// Applies the deltas of one envelope, or none of them.
pub(crate) fn apply(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    stream: &DeltaStream<'_>,
) -> Result<Vec<Ignored>> {
    let DeltaStream { deltas, blockers, options, packets, checks } = *stream;
    recall(work, state, deltas)?;
    // Check all deltas before anything is written.
    let mut after = state.ledger.clone();
    after.apply(deltas, options).map_err(|refusal| denied(&refusal))?;
    super::cycles::refuse(&after, deltas)?;
    let each = DeltaOptions { base_version: None, ..options };
    let mut ignored = Vec::new();
    for (index, delta) in deltas.iter().enumerate() {
        let was_done = state.is_done(&delta.task_id);
        let left_out =
            state.ledger.apply(std::slice::from_ref(delta), each).map_err(|refusal| denied(&refusal))?;
        if left_out.is_empty() {
            note(work, state, delta);
            if let (Some(packet), Some(row)) =
                (packets.get(&delta.task_id), state.ledger.rows.get_mut(&delta.task_id))
            {
                row.take_packet(packet);
            }
            let verified = if delta.status == Status::Done && !was_done {
                done::accept(work, state, (index, delta), checks)?
            } else {
                false
            };
            let applied =
                AppliedDelta { delta_id: delta.delta_id.clone(), digest: digest::of_value(delta).ok() };
            let context = TransitionContext { verified, ..TransitionContext::NOTHING };
            write(work, state, &delta.task_id, Some(applied), context)?;
        }
        ignored.extend(left_out);
    }
    for blocker in blockers {
        if let Some(task) = state.tasks.get(&blocker.task_id).filter(|task| task.status == Status::Blocked) {
            settle_blocker(work, task, Some(blocker))?;
        }
    }
    Ok(ignored)
}

/// Applies a delta that writ makes itself, by the same rules.
pub(crate) fn step(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    delta: &Delta,
    context: TransitionContext,
) -> Result<()> {
    recall(work, state, std::slice::from_ref(delta))?;
    state
        .ledger
        .apply(std::slice::from_ref(delta), DeltaOptions::default())
        .map_err(|refusal| denied(&refusal))?;
    note(work, state, delta);
    let applied = AppliedDelta { delta_id: delta.delta_id.clone(), digest: digest::of_value(delta).ok() };
    write(work, state, &delta.task_id, Some(applied), context)
}

/// Writes a row that writ itself changed without moving its task.
pub(crate) fn rewrite(work: &mut EventWriter<'_, '_>, state: &mut LedgerState, name: &TaskRef) -> Result<()> {
    if let Some(row) = state.ledger.rows.get_mut(name) {
        row.version = row.version.saturating_add(1);
    }
    state.ledger.version = state.ledger.version.saturating_add(1);
    write(work, state, name, None, TransitionContext::NOTHING)
}

/// Notes the time from which the delta's `retry_after_ms` counts.
fn note(work: &EventWriter<'_, '_>, state: &mut LedgerState, delta: &Delta) {
    if let Some(row) = state.ledger.rows.get_mut(&delta.task_id) {
        row.note_retry(delta, work.now.at);
    }
}

/// Looks up which of these deltas were applied before.
fn recall(work: &EventWriter<'_, '_>, state: &mut LedgerState, deltas: &[Delta]) -> Result<()> {
    for delta in deltas {
        let Some(digest) = work.tx.applied_delta(&state.run.asked.id, &delta.delta_id)? else { continue };
        state.ledger.applied.insert(delta.delta_id.clone());
        if let Some(digest) = digest {
            state.ledger.digests.insert(delta.delta_id.clone(), digest);
        }
    }
    Ok(())
}

/// Writes a row of the ledger state to the store.
fn write(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    reference: &TaskRef,
    delta: Option<AppliedDelta>,
    context: TransitionContext,
) -> Result<()> {
    let row = state.ledger.rows[reference].clone();
    let mut task = match state.tasks.get(reference) {
        Some(task) => task.clone(),
        None => create(work, state, reference, &row)?,
    };
    if task.status != row.status {
        let command = Command::Move {
            to: row.status,
            reason: Some(row.reason.clone()),
            rules: Rules::Operator,
            verified: context.verified,
            by: None,
        };
        let message = format!("{reference}: {}", row.status);
        crate::task::carry_out_alone(work, &mut task, &command, &message).map_err(as_operator)?;
    }
    let written = CrewChange::RowWritten {
        run_id: state.run.asked.id.clone(),
        task_id: task.id.clone(),
        reference: reference.clone(),
        ledger_version: state.ledger.version,
        delta,
        row: Box::new(row.clone()),
    };
    let about = about(state, &task);
    work.change(&about, &format!("{reference} is {}: {}", row.status, row.reason), &Change::Crew(written))?;
    if !matches!(row.status, Status::Todo | Status::InProgress) {
        super::grants::let_go(work, &task, context.ended, context.spent.into())?;
    }
    if row.status != Status::Blocked {
        settle_blocker(work, &task, None)?;
    }
    state.tasks.insert(reference.clone(), task);
    Ok(())
}

/// A task with checks is done only after writ ran them; an orchestrator cannot say so.
fn as_operator(error: crate::Error) -> crate::Error {
    use contract::domain::code::ErrorCode;
    match error.code {
        ErrorCode::CheckFailed => deny(Code::AcceptanceFailed, "no_evidence", error.message),
        ErrorCode::WrongState => deny(Code::InvalidTransition, "illegal", error.message),
        _ => error,
    }
}

/// Events of a task of the ledger.
pub(crate) fn about(state: &LedgerState, task: &Task) -> About {
    About { task_id: Some(task.id.clone()), ..crate::run::about(&state.run) }
}

fn create(
    work: &mut EventWriter<'_, '_>,
    state: &LedgerState,
    reference: &TaskRef,
    row: &Row,
) -> Result<Task> {
    let number = number_of(reference)
        .unwrap_or_else(|| unnumbered(state.tasks.keys().filter(|other| number_of(other).is_none()).count()));
    let spec = spec_of(reference, &row.columns, &state.run.asked.workspace)
        .map_err(|fault| super::denial::refused(contract::operator::fencing::Refused::Scope(fault)))?;
    let needed = row.dependencies().iter().filter_map(|needed| state.tasks.get(needed));
    let mut depends_on: Vec<_> = needed.map(|task| task.id.clone()).collect();
    depends_on.sort();
    depends_on.dedup();
    let task_id: contract::domain::task::TaskId = mint(work.ids, work.now.at);
    let created = Change::TaskCreated {
        task_id: task_id.clone(),
        title: spec.title.clone(),
        description: String::new(),
        priority: spec.priority.number(),
        project_id: None,
        part: Some(PlanPart { run_id: state.run.asked.id.clone(), number, spec }),
        depends_on,
        checks: None,
    };
    let about = About { task_id: Some(task_id.clone()), ..crate::run::about(&state.run) };
    work.change(&about, &format!("Task created: {reference}"), &created)?;
    crate::task::required(work.tx, task_id.as_str())
}
