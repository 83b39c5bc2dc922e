//! Checks a ledger's consistency.

use crate::context::Context;
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::ledger::show::Request;
use crate::verb::{Function, Surface, Verb};
use crate::verdict::VerdictAnswer;

pub struct Reconcile;

impl Verb for Reconcile {
    const NAME: &'static str = "ledger.reconcile";
    const COMMAND: &'static str = "ledger reconcile";
    const SUMMARY: &'static str = "Check a ledger's consistency";
    const SURFACE: Surface = Surface::Validator;
    type Request = Request;
    type Answer = VerdictAnswer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| reconcile(cx, request));
}

/// Whether the ledger agrees with its locks, heartbeats, blockers and results now.
pub fn reconcile(cx: &mut Context, request: &Request) -> Result<VerdictAnswer> {
    let now = cx.clock.now();
    let verdict = cx.read_viewing(|tx, view| {
        let state = LedgerState::of(tx, &request.run)?;
        let fold = view.folds_case(&state.run.asked.workspace)?;
        state.reconcile(tx, &now, fold)
    })?;
    Ok(verdict.into())
}
