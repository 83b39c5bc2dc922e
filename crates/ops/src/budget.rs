//! What a run may spend: a limit, what is reserved for work that is out, and what is gone.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::{Amount, Purse};
use contract::domain::money::MicroUsd;
use contract::operator::Code;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::crew::sheet::find_run;
use crate::error::{Error, Result};
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    /// A limit that is not named stays as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    #[serde(flatten)]
    pub purse: Purse,
    pub free: Amount,
}

/// Sets the limit of a run. It may grow and shrink, but not below what is spent and reserved.
pub fn set(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    if request.cost.is_none() && request.tokens.is_none() {
        return Err(Error::new(ErrorCode::Usage, "neither the cost nor the tokens of a run are named")
            .hint("say what it may spend: a cost, a number of tokens, or both"));
    }
    cx.once(key, "budget.set", request, |work| {
        let run = find_run(work.tx, &request.run)?;
        let purse = work.tx.purse(&run.asked.id)?.unwrap_or_default();
        let limit = Amount {
            cost: request.cost.unwrap_or(purse.limit.cost),
            tokens: request.tokens.unwrap_or(purse.limit.tokens),
        };
        purse
            .decide_limit(limit)
            .map_err(|fault| deny(Code::NonCompliant, fault.rule(), format!("the limit is {fault}")))?;
        let change = CrewChange::BudgetSet { run_id: run.asked.id.clone(), limit };
        let message = format!("The run may spend {} and {} tokens", limit.cost, limit.tokens);
        work.change(&crate::run::about(&run), &message, &Change::Crew(change))?;
        let purse = Purse { limit, ..purse };
        Ok(Answer { run_id: crate::crew::sheet::uuid(&run)?, purse, free: purse.free() })
    })
}

/// The books of a run; none where nobody set a limit.
pub fn show(cx: &mut Context, run: &str) -> Result<Option<Answer>> {
    let tx = cx.store.read()?;
    let run = find_run(&tx, run)?;
    let Some(purse) = tx.purse(&run.asked.id)? else { return Ok(None) };
    Ok(Some(Answer { run_id: crate::crew::sheet::uuid(&run)?, purse, free: purse.free() }))
}
