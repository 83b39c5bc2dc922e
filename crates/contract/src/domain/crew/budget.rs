//! The budget of a run: reserved before work is assigned or started, settled when it ends, never lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::money::MicroUsd;

/// Money and tokens together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    pub cost: MicroUsd,
    pub tokens: i64,
}

impl Amount {
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        let cost = MicroUsd(self.cost.0.saturating_add(other.cost.0));
        Amount { cost, tokens: self.tokens.saturating_add(other.tokens) }
    }

    #[must_use]
    pub fn minus(self, other: Amount) -> Amount {
        let cost = MicroUsd(self.cost.0.saturating_sub(other.cost.0));
        Amount { cost, tokens: self.tokens.saturating_sub(other.tokens) }
    }

    pub fn fits_in(self, other: Amount) -> bool {
        self.cost <= other.cost && self.tokens <= other.tokens
    }

    pub fn is_negative(self) -> bool {
        self.cost.0 < 0 || self.tokens < 0
    }
}

/// How much of a reserved amount is known to be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    pub cost: Option<MicroUsd>,
    pub tokens: Option<i64>,
}

impl Spent {
    /// Amounts without a report count as spent.
    pub fn of(self, reserved: Amount) -> Amount {
        Amount { cost: self.cost.unwrap_or(reserved.cost), tokens: self.tokens.unwrap_or(reserved.tokens) }
    }
}

impl From<Option<Amount>> for Spent {
    fn from(amount: Option<Amount>) -> Self {
        Spent { cost: amount.map(|amount| amount.cost), tokens: amount.map(|amount| amount.tokens) }
    }
}

/// The budget of a run. `limit = free + reserved + spent` at all times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Purse {
    pub limit: Amount,
    pub reserved: Amount,
    pub spent: Amount,
}

/// Why nothing can be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetFault {
    #[error("the run has a budget, but the task has none")]
    NoShare,
    #[error("the run has less left than the task may spend")]
    Exhausted,
    #[error("an amount must not be negative")]
    Negative,
    #[error("less than what is already spent and reserved")]
    BelowUse,
}

impl BudgetFault {
    pub fn rule(self) -> &'static str {
        match self {
            BudgetFault::NoShare => "budget_missing",
            BudgetFault::Exhausted => "budget_exhausted",
            BudgetFault::Negative => "budget_negative",
            BudgetFault::BelowUse => "budget_below_use",
        }
    }
}

impl Purse {
    /// What is neither reserved nor spent. Negative only if work in progress exceeded the budget.
    pub fn free(&self) -> Amount {
        self.limit.minus(self.reserved).minus(self.spent)
    }

    /// The reservation for a task that may spend `share`.
    pub fn decide_reserve(&self, share: Option<Amount>) -> Result<Amount, BudgetFault> {
        let share = share.ok_or(BudgetFault::NoShare)?;
        if share.is_negative() {
            return Err(BudgetFault::Negative);
        }
        if share.fits_in(self.free()) { Ok(share) } else { Err(BudgetFault::Exhausted) }
    }

    /// Whether `share` fits if all reservations are released unspent.
    pub fn could_hold(&self, share: Amount) -> bool {
        share.fits_in(self.limit.minus(self.spent))
    }

    /// Whether the limit may become `limit`.
    pub fn decide_limit(&self, limit: Amount) -> Result<(), BudgetFault> {
        if limit.is_negative() {
            return Err(BudgetFault::Negative);
        }
        let used = self.reserved.plus(self.spent);
        if used.fits_in(limit) { Ok(()) } else { Err(BudgetFault::BelowUse) }
    }
}
