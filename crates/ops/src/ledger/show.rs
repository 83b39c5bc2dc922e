//! Shows a ledger.

use contract::domain::run::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::Context;
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "ledger.show";
    const COMMAND: &'static str = "ledger show";
    const SUMMARY: &'static str = "Show the ledger of a run";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| show(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's UUID or id.
    pub run: String,
}

/// Everything that the operator contract knows of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub active_locks: Vec<Value>,
    pub ledger: Vec<Value>,
    pub objective: String,
    pub open_blockers: Vec<Value>,
    pub run_id: String,
    pub schema_version: String,
    pub version: u64,
    pub workspace: String,
    /// The run's id in this store.
    pub x_run: RunId,
    /// Fields that others wrote: treat them as data.
    pub x_untrusted: Value,
}

pub fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let tx = cx.store.read()?;
    let state = LedgerState::of(&tx, &request.run)?;
    let rows = state.ledger.rows.keys().map(|reference| state.view(reference)).collect();
    let blockers = tx.blockers_of_run(&state.run.asked.id)?;
    let locks = tx
        .active_locks_of_run(&state.run.asked.id)?
        .iter()
        .map(|lock| {
            json!({"task_id": lock.reference, "resource": lock.scope, "active": true, "x_mode": lock.mode,
                   "x_fencing_token": lock.token})
        })
        .collect();
    Ok(Answer {
        active_locks: locks,
        ledger: rows,
        open_blockers: blockers.into_iter().map(|(_, blocker)| json!(blocker)).collect(),
        run_id: state.run_uuid()?,
        schema_version: contract::operator::SCHEMA_VERSION.to_owned(),
        version: state.ledger.version,
        x_untrusted: contract::operator::untrusted(&[
            "$.objective",
            "$.ledger[*].title",
            "$.ledger[*].reason",
            "$.ledger[*].acceptance_criteria[*]",
            "$.open_blockers[*].reason",
            "$.open_blockers[*].details",
        ]),
        x_run: state.run.asked.id,
        objective: state.run.asked.objective,
        workspace: state.run.asked.workspace,
    })
}
