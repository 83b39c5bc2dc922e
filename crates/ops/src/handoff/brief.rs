//! Briefs an agent that has never seen a run about its handoff bundle.

use contract::domain::limits;
use contract::operator::handoff::{Handoff, HandoffBrief, brief as said};
use contract::operator::{Options, Tripwire, read_handoff};
use serde_json::Value;

use super::export;
use crate::context::Context;
use crate::crew::denial::denied;
use crate::error::Result;

/// What a brief is made for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The name under which commands are printed.
    pub program: &'a str,
    /// In tokens.
    pub budget: Option<usize>,
    /// An operator's choice.
    pub tripwire: Tripwire,
}

/// The brief of a bundle that lies elsewhere. One that no validator would let through is not repeated to anybody.
pub fn of_bundle(document: &Value, asked: Asked<'_>) -> Result<HandoffBrief> {
    let options = Options { allow_stale: true, tripwire: asked.tripwire, ..Options::default() };
    let read = read_handoff(document.to_string().as_bytes(), &options);
    let (handoff, _): (Handoff, _) = read.map_err(|refusal| denied(&refusal))?;
    Ok(said(&handoff, asked.program, asked.budget.unwrap_or(limits::BRIEF_TOKENS_DEFAULT)))
}

/// The brief of a run of this store, as its bundle would say it.
pub fn of_run(cx: &mut Context, run: &str, asked: Asked<'_>) -> Result<HandoffBrief> {
    let request = export::Request { run: run.to_owned(), allow_stale: true, tripwire: asked.tripwire };
    of_bundle(&export::export(cx, &request)?.document, asked)
}
