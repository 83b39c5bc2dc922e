//! Shows the budget of a run.

use contract::domain::crew::budget::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::crew::ledger_state::{find_run, uuid};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "budget.show";
    const COMMAND: &'static str = "budget show";
    const SUMMARY: &'static str = "Show the budget of a run";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(show);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
}

/// `limit = free + reserved + spent`. Without a budget, `limit` is `null` and the other fields are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub limit: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Amount>,
}

pub fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let tx = cx.store.read()?;
    let run = find_run(&tx, &request.run)?;
    let Some(purse) = tx.purse(&run.asked.id)? else { return Ok(Answer::default()) };
    Ok(Answer {
        run_id: Some(uuid(&run)?),
        limit: Some(purse.limit),
        reserved: Some(purse.reserved),
        spent: Some(purse.spent),
        free: Some(purse.free()),
    })
}
