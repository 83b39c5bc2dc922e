//! The budget of a run.

pub mod set;
pub mod settle;
pub mod show;

use contract::domain::crew::budget::{Amount, Delegated, Purse};
use contract::domain::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::crew::loans;
use crate::error::Result;

/// A run's budget in its four parts: `limit = free + reserved + spent + withheld`. Answers of older versions have no
/// withheld part, and are returned as they were stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    pub run_id: String,
    pub limit: Amount,
    pub reserved: Amount,
    pub spent: Amount,
    /// Reserved for work that ended without a report of what it spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Amount>,
    pub free: Amount,
    /// In which unit costs are: `micro_usd`, millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_unit: Option<String>,
}

/// Whether the run of a task has a budget in which nothing is withheld for the task: a person said what it spent.
pub fn is_settled(cx: &mut Context, task: &Task) -> Result<bool> {
    let Some(part) = &task.part else { return Ok(false) };
    let tx = cx.store.read()?;
    Ok(tx.purse(&part.run_id)?.is_some() && tx.withheld_reservations(&task.id)?.is_empty())
}

/// What the runs that a task started use of its budget.
pub fn delegated(cx: &mut Context, task: &Task) -> Result<Delegated> {
    loans::delegated(&cx.store.read()?, task)
}

fn cost_unit() -> String {
    "micro_usd".to_owned()
}

impl Shares {
    fn of(run_id: String, purse: Purse) -> Self {
        Self {
            run_id,
            limit: purse.limit,
            reserved: purse.reserved,
            spent: purse.spent,
            withheld: Some(purse.withheld),
            free: purse.free(),
            cost_unit: Some(cost_unit()),
        }
    }
}
