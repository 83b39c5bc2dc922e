//! The budget of a run: reserved before work is assigned or started, booked when it ends, never lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::limits;
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

    /// Without what is below zero.
    #[must_use]
    pub fn at_least_nothing(self) -> Amount {
        self.at_least(Amount::default())
    }

    /// The larger of the two, for money and tokens each on their own.
    #[must_use]
    pub fn at_least(self, other: Amount) -> Amount {
        Amount { cost: self.cost.max(other.cost), tokens: self.tokens.max(other.tokens) }
    }

    /// As much of it as `other` has.
    #[must_use]
    pub fn at_most(self, other: Amount) -> Amount {
        Amount { cost: self.cost.min(other.cost), tokens: self.tokens.min(other.tokens) }
    }

    pub fn is_negative(self) -> bool {
        self.cost.0 < 0 || self.tokens < 0
    }

    /// As a condition of serde, which passes a reference.
    pub fn is_zero(&self) -> bool {
        *self == Amount::default()
    }
}

/// An amount of a limit for programs and people: `None` where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    pub cost: Option<MicroUsd>,
    pub tokens: Option<i64>,
}

impl Bound {
    /// The part of a purse, whose limit says what is bounded at all.
    pub fn of(limit: Amount, part: Amount) -> Self {
        Self {
            cost: (limit.cost.0 < limits::AMOUNT_MAX).then_some(part.cost),
            tokens: (limit.tokens < limits::AMOUNT_MAX).then_some(part.tokens),
        }
    }

    /// For people: only the limits that exist.
    pub fn told(self) -> String {
        let cost = self.cost.map(|cost| cost.to_string());
        let tokens = self.tokens.map(|tokens| format!("{tokens} tokens"));
        let parts: Vec<String> = cost.into_iter().chain(tokens).collect();
        if parts.is_empty() { "no limit".to_owned() } else { parts.join(" and ") }
    }
}

/// How much of a reserved amount is known to be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    pub cost: Option<MicroUsd>,
    pub tokens: Option<i64>,
}

/// How a reservation was booked: what was reported is spent, what nobody reported is withheld, the rest is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Booking {
    pub spent: Amount,
    pub withheld: Amount,
}

impl Spent {
    /// The spending of work that uses no model.
    pub const NOTHING: Spent = Spent { cost: Some(MicroUsd(0)), tokens: Some(0) };

    /// Amounts without a report stay withheld: they may have been spent.
    pub fn of(self, reserved: Amount) -> Booking {
        let spent = Amount { cost: self.cost.unwrap_or_default(), tokens: self.tokens.unwrap_or_default() };
        let withheld = Amount {
            cost: self.cost.map_or(reserved.cost, |_| MicroUsd(0)),
            tokens: self.tokens.map_or(reserved.tokens, |_| 0),
        };
        Booking { spent, withheld }
    }

    /// The spending as reported; of work that uses no model, nothing where there is no report.
    #[must_use]
    pub fn or_nothing_if(self, is_model_free: bool) -> Spent {
        if !is_model_free {
            return self;
        }
        Spent { cost: self.cost.or(Spent::NOTHING.cost), tokens: self.tokens.or(Spent::NOTHING.tokens) }
    }
}

/// What the runs that a task started use of its budget. A run that they started is part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delegated {
    pub reserved: Amount,
    pub spent: Amount,
    pub withheld: Amount,
}

impl Delegated {
    /// What does not come back by itself.
    #[must_use]
    pub fn gone(self) -> Amount {
        self.spent.plus(self.withheld)
    }

    #[must_use]
    pub fn used(self) -> Amount {
        self.gone().plus(self.reserved)
    }
}

/// Why withheld amounts cannot be settled this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettleFault {
    #[error("nothing is withheld for the task")]
    NothingWithheld,
    #[error("more than what is withheld")]
    AboveWithheld,
    #[error("an amount must not be negative")]
    Negative,
}

impl SettleFault {
    pub fn rule(self) -> &'static str {
        match self {
            SettleFault::NothingWithheld => "nothing_withheld",
            SettleFault::AboveWithheld => "settle_above_withheld",
            SettleFault::Negative => "budget_negative",
        }
    }
}

/// Divides what was spent in total among withheld amounts, oldest first. Each part is settled: the withheld amount that
/// ends, and how much of it is spent; the rest becomes free. A cost or token count that is `None` stays withheld.
pub fn settle(withheld: &[Amount], total: Spent) -> Result<Vec<Settled>, SettleFault> {
    let sum = withheld.iter().copied().fold(Amount::default(), Amount::plus);
    let cost = part(sum.cost.0, total.cost.map(|cost| cost.0))?;
    let tokens = part(sum.tokens, total.tokens)?;
    let (mut cost_left, mut tokens_left) = (cost.unwrap_or(0), tokens.unwrap_or(0));
    let take = |amount: i64, left: &mut i64, is_settled: bool| {
        let spent = if is_settled { amount.min(*left) } else { 0 };
        *left -= spent;
        (if is_settled { amount } else { 0 }, spent)
    };
    let settled = withheld.iter().map(|amount| {
        let (cost_ended, cost_spent) = take(amount.cost.0, &mut cost_left, cost.is_some());
        let (tokens_ended, tokens_spent) = take(amount.tokens, &mut tokens_left, tokens.is_some());
        Settled {
            withheld: Amount { cost: MicroUsd(cost_ended), tokens: tokens_ended },
            spent: Amount { cost: MicroUsd(cost_spent), tokens: tokens_spent },
        }
    });
    Ok(settled.collect())
}

/// A part of a withheld amount that is not withheld any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub withheld: Amount,
    pub spent: Amount,
}

/// The known part of one kind of money, which must fit in what is withheld of it.
fn part(withheld: i64, known: Option<i64>) -> Result<Option<i64>, SettleFault> {
    match known {
        None => Ok(None),
        Some(known) if known < 0 => Err(SettleFault::Negative),
        Some(_) if withheld == 0 => Err(SettleFault::NothingWithheld),
        Some(known) if known > withheld => Err(SettleFault::AboveWithheld),
        Some(known) => Ok(Some(known)),
    }
}

/// The budget of a run. `limit = free + reserved + spent + withheld` at all times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Purse {
    pub limit: Amount,
    pub reserved: Amount,
    pub spent: Amount,
    /// Reserved for work that ended without a report of what it spent.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub withheld: Amount,
}

/// Why nothing can be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetFault {
    #[error("the run has a budget, but the task has none")]
    NoShare,
    #[error("{}", exhausted(*share, *left))]
    Exhausted { share: Amount, left: Amount },
    #[error("an amount must not be negative")]
    Negative,
    #[error("less than what is already spent, reserved and withheld")]
    BelowUse,
}

/// What a task may spend and what is left, where it is less.
fn exhausted(share: Amount, left: Amount) -> String {
    let mut short = Vec::new();
    if share.cost > left.cost {
        short.push(format!(
            "the task may spend {}, but only {} is left",
            share.cost,
            left.at_least_nothing().cost
        ));
    }
    if share.tokens > left.tokens {
        let (wanted, left) = (share.tokens, left.at_least_nothing().tokens);
        short.push(format!("the task may use {wanted} tokens, but only {left} are left"));
    }
    short.join("; ")
}

impl BudgetFault {
    pub fn rule(self) -> &'static str {
        match self {
            BudgetFault::NoShare => "budget_missing",
            BudgetFault::Exhausted { .. } => "budget_exhausted",
            BudgetFault::Negative => "budget_negative",
            BudgetFault::BelowUse => "budget_below_use",
        }
    }
}

impl Purse {
    /// What is not in use. Negative only if work in progress exceeded the budget.
    pub fn free(&self) -> Amount {
        self.limit.minus(self.reserved).minus(self.spent).minus(self.withheld)
    }

    /// The reservation for a task that may spend `share`.
    pub fn decide_reserve(&self, share: Option<Amount>) -> Result<Amount, BudgetFault> {
        let share = share.ok_or(BudgetFault::NoShare)?;
        if share.is_negative() {
            return Err(BudgetFault::Negative);
        }
        let left = self.free();
        if share.fits_in(left) { Ok(share) } else { Err(BudgetFault::Exhausted { share, left }) }
    }

    /// Whether `share` fits if all reservations are released unspent.
    pub fn could_hold(&self, share: Amount) -> bool {
        share.fits_in(self.limit.minus(self.spent).minus(self.withheld))
    }

    /// Whether this limit permits more than the one that the run has.
    pub fn is_raised_by(&self, limit: Amount) -> bool {
        limit.cost > self.limit.cost || limit.tokens > self.limit.tokens
    }

    /// Whether the limit may become `limit`.
    pub fn decide_limit(&self, limit: Amount) -> Result<(), BudgetFault> {
        if limit.is_negative() {
            return Err(BudgetFault::Negative);
        }
        let used = self.reserved.plus(self.spent).plus(self.withheld);
        if used.fits_in(limit) { Ok(()) } else { Err(BudgetFault::BelowUse) }
    }
}
