//! Shows the budget of a run.

use contract::domain::crew::budget::{Amount, Bound};
use contract::domain::run::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::context::{Context, Session};
use crate::crew::ledger_state::uuid;
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
    /// The run's id, a unique prefix of it, its correlation id, or `@last` for the newest.
    pub run: String,
}

/// `limit = free + reserved + spent + withheld`. Without a budget, `limit` is `null` and the other fields are missing; in a
/// budget of only money or only tokens, the other amount is `null` in `limit` and `free`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub limit: Option<Bound>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Amount>,
    /// Reserved for work that ended without a report of what it spent; `budget settle` ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Amount>,
    /// The tasks with withheld amounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld_for: Vec<WithheldFor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Bound>,
    /// In which unit costs are: `micro_usd`, millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_unit: Option<String>,
}

/// What is withheld for one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldFor {
    /// Its id in the plan.
    pub task: String,
    #[serde(flatten)]
    pub amount: Amount,
}

pub fn show(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let run = cx.run_named(session, &request.run)?;
    let tx = cx.store.read()?;
    let Some(purse) = tx.purse(&run.asked.id)? else { return Ok(Answer::default()) };
    let withheld_for = if purse.withheld.is_zero() { Vec::new() } else { withheld_for(&tx, &run)? };
    Ok(Answer {
        run_id: Some(uuid(&run)?),
        limit: Some(Bound::of(purse.limit, purse.limit)),
        reserved: Some(purse.reserved),
        spent: Some(purse.spent),
        withheld: Some(purse.withheld),
        withheld_for,
        free: Some(Bound::of(purse.limit, purse.free())),
        cost_unit: Some(super::cost_unit()),
    })
}

fn withheld_for(tx: &Tx<'_>, run: &Run) -> Result<Vec<WithheldFor>> {
    let mut found = Vec::new();
    for task in tx.tasks_of_run(&run.asked.id)? {
        let own = tx.withheld_reservations(&task.id)?.into_iter();
        let own = own.filter(|part| part.run_id == run.asked.id);
        let amount = own.fold(Amount::default(), |sum, part| sum.plus(part.amount));
        if !amount.is_zero() {
            let name = task.part.map_or_else(|| task.id.to_string(), |part| part.spec.id);
            found.push(WithheldFor { task: name, amount });
        }
    }
    Ok(found)
}
