//! Writes rows of a ledger: deltas in order, once each, all or nothing. The tasks move with their rows.

mod writing;

use std::collections::BTreeMap;

use contract::digest;
use contract::domain::crew::budget::Spent;
use contract::domain::crew::row::CrewColumns;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{AppliedDelta, Ended};
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::operator::ledger::Ignored;
use contract::operator::{Blocker, Delta, DeltaOptions};

use super::blockers::settle_blocker;
use super::denial::denied;
use super::done::{self, ChecksSeen};
use super::ledger_state::LedgerState;
use crate::error::Result;
use crate::record::{About, EventWriter};
use writing::write;

/// What a delta does not say about a transition.
#[derive(Debug, Clone)]
pub(crate) struct TransitionContext {
    /// writ itself ran the task's checks and they passed.
    pub(crate) verified: bool,
    /// Why done is only claimed although they passed.
    pub(crate) withheld: Option<String>,
    /// Who completes the task, where that is known.
    pub(crate) by: Option<Agent>,
    /// How an open assignment ends.
    pub(crate) ended: Ended,
    pub(crate) spent: Spent,
}

impl TransitionContext {
    pub(crate) const NOTHING: TransitionContext = TransitionContext {
        verified: false,
        withheld: None,
        by: None,
        ended: Ended::Withdrawn,
        spent: Spent { cost: None, tokens: None },
    };
}

/// The deltas of one envelope, and what else decides about them.
pub(crate) struct DeltaStream<'e> {
    pub(crate) deltas: &'e [Delta],
    pub(crate) blockers: &'e [Blocker],
    pub(crate) options: DeltaOptions,
    /// What the envelope's packets say about their tasks.
    pub(crate) packets: &'e BTreeMap<TaskRef, CrewColumns>,
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
            let (verified, withheld) = if delta.status == Status::Done && !was_done {
                done::accept(work, state, (index, delta), checks)?
            } else {
                (false, None)
            };
            let applied =
                AppliedDelta { delta_id: delta.delta_id.clone(), digest: digest::of_value(delta).ok() };
            let by = Some(work.caller.agent.clone());
            let context = TransitionContext { verified, withheld, by, ..TransitionContext::NOTHING };
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
    if let (Some(row), Some(wait)) = (state.ledger.rows.get_mut(&delta.task_id), delta.retry_after_ms) {
        row.note_retry(wait, work.now.at);
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

/// Events of a task of the ledger.
pub(crate) fn about(state: &LedgerState, task: &Task) -> About {
    About { task_id: Some(task.id.clone()), ..crate::run::about(&state.run) }
}
