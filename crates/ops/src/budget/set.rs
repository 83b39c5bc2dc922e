//! Sets the limit of a run.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::{Amount, Bound, Purse};
use contract::domain::money::MicroUsd;
use contract::domain::principal::Action;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use super::Shares;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::crew::ledger_state::{find_run, uuid};
use crate::decision::changed;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Set;

impl Verb for Set {
    const NAME: &'static str = "budget.set";
    const COMMAND: &'static str = "budget set";
    const SUMMARY: &'static str = "Set the budget of a run";
    const SURFACE: Surface = Surface::Crew;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Shares;
    const FUNCTION: Function<Self> = Function::Once(set);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    /// In micro-USD. A limit that is missing does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
}

/// Raises or lowers the limit of a run, but not below what is spent, reserved and withheld. The first limit and a lower
/// one restrict the run; to raise one is a person's decision.
pub fn set(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Shares>> {
    if request.cost.is_none() && request.tokens.is_none() {
        return Err(Error::new(ErrorCode::Usage, "cost or tokens is required")
            .hint("set a limit for the cost, for the tokens, or for both"));
    }
    let prepare = |cx: &mut Context| {
        let action = raise(&cx.store.read()?, request)?;
        action.map(|action| cx.decision(session, action)).transpose()
    };
    cx.decide_once(session, (Set::NAME, request), prepare, |work, decision| {
        match (decision, raise(work.tx, request)?) {
            (Some(decision), Some(action)) => set_limit(&mut decision.act(work, &action)?, request),
            (None, None) => set_limit(work, request),
            (Some(_), None) | (None, Some(_)) => Err(changed()),
        }
    })
}

fn set_limit(work: &mut EventWriter<'_, '_>, request: &Request) -> Result<Shares> {
    let run = find_run(work.tx, &request.run)?;
    let purse = work.tx.purse(&run.asked.id)?.unwrap_or_default();
    let limit = wanted(&purse, request);
    purse
        .decide_limit(limit)
        .map_err(|fault| deny(Code::NonCompliant, fault.rule(), format!("the limit is {fault}")))?;
    let change = CrewChange::BudgetSet { run_id: run.asked.id.clone(), limit };
    let message = format!("The run may spend {}", Bound::of(limit, limit).told());
    work.change(&crate::run::about(&run), &message, &Change::Crew(change))?;
    Ok(Shares::of(uuid(&run)?, Purse { limit, ..purse }))
}

fn wanted(purse: &Purse, request: &Request) -> Amount {
    Amount {
        cost: request.cost.unwrap_or(purse.limit.cost),
        tokens: request.tokens.unwrap_or(purse.limit.tokens),
    }
}

/// What a person decides, if the request raises a limit.
fn raise(tx: &Tx<'_>, request: &Request) -> Result<Option<Action>> {
    let run = find_run(tx, &request.run)?;
    let Some(purse) = tx.purse(&run.asked.id)? else { return Ok(None) };
    let limit = wanted(&purse, request);
    let question = format!(
        "Raise the budget of {} ({}) from {} to {}",
        run.asked.id,
        run.asked.objective,
        Bound::of(purse.limit, purse.limit).told(),
        Bound::of(limit, limit).told()
    );
    Ok(purse.is_raised_by(limit).then(|| Action::new(Set::NAME, question)))
}
