//! The fencing tokens of an imported run: none may be in use in this store.

use contract::domain::run::RunId;
use contract::operator::handoff::bundle::HandoffBundle;

use crate::crew::ledger_state::LedgerState;
use crate::crew::token;
use crate::error::Result;
use crate::record::EventWriter;

/// Tokens stay the same if they are all new in this store; otherwise all of them are raised by the same number. The
/// store's next token is higher than any of the run's.
pub(super) fn raise(work: &EventWriter<'_, '_>, bundle: &HandoffBundle) -> Result<i64> {
    let last = work.tx.last_number("fencing")?;
    let is_free = bundle.tokens().all(|token| token > last);
    let by = if is_free { 0 } else { last };
    work.tx.raise_number("fencing", bundle.carried.x_run.fencing.saturating_add(by))?;
    Ok(by)
}

/// The bundle with the tokens that the run has here, if it is the same run.
pub(super) fn known_as(
    work: &EventWriter<'_, '_>,
    run_id: &RunId,
    bundle: HandoffBundle,
) -> Result<(HandoffBundle, i64)> {
    let raised = work.tx.fencing_of_run(run_id)?.saturating_sub(bundle.carried.x_run.fencing).max(0);
    Ok((bundle.shifted(raised), raised))
}

/// Workers of a bundle that has no digest of their token get one of this store.
pub(super) fn with_hashes(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    mut bundle: HandoffBundle,
) -> Result<HandoffBundle> {
    for given in bundle.carried.x_assignments.iter_mut().filter(|given| given.ended.is_none()) {
        if given.token_hash.is_none() {
            let task = state.task(&given.task_id)?;
            given.token_hash = Some(token::proved(work.tx, &task.id, given.token)?.hash());
        }
    }
    Ok(bundle)
}
