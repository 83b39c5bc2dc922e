//! A bundle of a run that is already in this store: the same state changes nothing, another one is refused.

use contract::domain::run::RunId;
use contract::operator::handoff::bundle::{HandoffBundle, difference};
use contract::operator::{Code, Handoff};
use serde_json::json;

use super::{Answer, tasks};
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::error::{Error, Result};
use crate::handoff::gather::gather;
use crate::record::EventWriter;

/// The answer for another program's bundle of a known run. The same bundle changes nothing while the run is as it
/// was imported.
pub(super) fn known_foreign(
    work: &EventWriter<'_, '_>,
    run_id: &RunId,
    handoff: &Handoff,
    digest: &str,
) -> Result<Answer> {
    let view = work.view;
    let state = LedgerState::of(work.tx, run_id.as_str())?;
    let imported = work.tx.handoff_of_run(run_id)?.is_some_and(|(known, _)| known == digest);
    let is_unchanged = u64::try_from(handoff.ledger.len()) == Ok(state.ledger.version);
    if !imported || !is_unchanged {
        return Err(run_exists("the run is already in this store, in another state"));
    }
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let bundle = gather(work.tx, &state)?;
    Ok(Answer {
        created: false,
        digest: digest.to_owned(),
        reconcile: json!(state.reconcile(work.tx, work.now, fold)?),
        run_id: state.run_uuid()?,
        tasks: tasks(&bundle),
        tokens_raised_by: 0,
        version: state.ledger.version,
        worklogs: Vec::new(),
        x_set_aside: Vec::new(),
        assumed: Vec::new(),
        ignored: Vec::new(),
    })
}

/// Refuses a bundle that would not be exported again as it is: something in it would be lost.
pub(super) fn refuse_difference(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    bundle: &HandoffBundle,
    is_new: bool,
) -> Result<()> {
    let found = gather(work.tx, state)?.document();
    let Some(path) = difference(&bundle.document(), &found) else { return Ok(()) };
    if is_new {
        let message =
            format!("{path}: the bundle is inconsistent, or has a field that this version does not know");
        return Err(deny(Code::LedgerInconsistent, "not_reproduced", message));
    }
    Err(run_exists(format!("the run is already in this store, in another state: {path} differs")))
}

fn run_exists(message: impl Into<String>) -> Error {
    deny(Code::ConcurrencyConflict, "run_exists", message)
        .hint("see it with `writ ledger show`; import into a store that does not have the run")
}
