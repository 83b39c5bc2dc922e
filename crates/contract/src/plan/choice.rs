//! What follows a failed attempt: the same again, the next alternative, or nothing.

use crate::aop::effective::model::{is_critical, is_triggered};
use crate::domain::attempt::{Attempt, AttemptOutcome, AttemptState};
use crate::domain::crew::budget::{Amount, Delegated};
use crate::domain::executor::ExecutorName;
use crate::domain::failure_code::FailureCode;
use crate::domain::limits::LIMITED_ATTEMPTS_MAX;
use crate::domain::money::MicroUsd;
use crate::domain::plan::policy::FallbackTrigger;
use crate::domain::plan::{Budget, PlanTask};
use crate::domain::reason::Reason;

/// What follows a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The same executor and model again.
    Retry,
    /// This one of the task's alternatives.
    Alternative(usize),
    GiveUp(GivenUp),
}

/// Why a task is not tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenUp {
    /// No retry is left, and the task has no alternatives.
    Spent,
    /// No retry and no alternative is left.
    Exhausted,
    /// It failed with a critical error, and its author wants no more attempts then.
    Critical,
    /// Nothing is left of its budget, or nobody knows what is.
    OverBudget(Overspent),
}

/// Why a budget allows no further attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overspent {
    Cost {
        spent: MicroUsd,
        max: MicroUsd,
    },
    Tokens {
        spent: i64,
        max: i64,
    },
    UnknownCost {
        attempt: i64,
        max: MicroUsd,
    },
    UnknownTokens {
        attempt: i64,
        max: i64,
    },
    /// Runs that the task started did not report all that they spent.
    WithheldCost {
        spent: MicroUsd,
        withheld: MicroUsd,
        max: MicroUsd,
    },
    WithheldTokens {
        spent: i64,
        withheld: i64,
        max: i64,
    },
}

impl GivenUp {
    /// Why the task is not tried again. `None` where the reason of the last attempt is enough.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            GivenUp::Spent => None,
            GivenUp::Exhausted => Some(Reason::coded(
                FailureCode::AllModelsExhausted,
                "no alternative is left for this failure",
            )),
            GivenUp::Critical => Some(Reason::new("aborted at the first critical error")),
            GivenUp::OverBudget(overspent) => {
                Some(Reason::coded(FailureCode::CostLimitExceeded, overspent.told()))
            }
        }
    }
}

impl Overspent {
    pub fn told(self) -> String {
        match self {
            Overspent::Cost { spent, max } => {
                format!("{spent} of its budget of {max} is spent, so it is not tried again")
            }
            Overspent::Tokens { spent, max } => {
                format!("{spent} of its budget of {max} tokens are used, so it is not tried again")
            }
            Overspent::UnknownCost { attempt, max } => format!(
                "nobody knows what attempt {attempt} cost, and the budget is {max}, so it is not tried again; give the \
                 model a price under [prices] in the configuration, or say what it cost with `writ budget settle`"
            ),
            Overspent::UnknownTokens { attempt, max } => format!(
                "nobody knows how many tokens attempt {attempt} used, and the budget is {max}, so it is not tried \
                 again; say it with `writ budget settle`"
            ),
            Overspent::WithheldCost { spent, withheld, max } => format!(
                "{spent} of its budget of {max} is spent, and {withheld} is withheld for runs that it started, so it is \
                 not tried again; say what they cost with `writ budget settle`"
            ),
            Overspent::WithheldTokens { spent, withheld, max } => format!(
                "{spent} of its budget of {max} tokens are used, and {withheld} are withheld for runs that it started, so \
                 it is not tried again; say what they used with `writ budget settle`"
            ),
        }
    }

    /// Whether a person can still say what an attempt spent.
    pub fn is_unknown(self) -> bool {
        match self {
            Overspent::UnknownCost { .. } | Overspent::UnknownTokens { .. } => true,
            Overspent::Cost { .. }
            | Overspent::Tokens { .. }
            | Overspent::WithheldCost { .. }
            | Overspent::WithheldTokens { .. } => false,
        }
    }
}

/// What the attempts of a task have come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskStanding {
    /// The alternative that the last attempt used; `None` for what the task itself names.
    pub alternative: Option<usize>,
    /// How often what it uses now has failed.
    pub failures: u32,
    /// How often it was ended by a rate limit without using up a retry.
    pub parkings: u32,
    /// What follows the last attempt. `None` if that has not failed, or there was none.
    pub choice: Option<Choice>,
    /// What its attempts are known to have cost, with the runs that they started.
    pub cost: MicroUsd,
    pub tokens: i64,
    /// What those runs may have spent and did not report.
    pub withheld: Amount,
    /// The first attempt that failed without saying what it cost, and the same for tokens.
    pub unknown_cost: Option<i64>,
    pub unknown_tokens: Option<i64>,
    /// Everything was tried before; what follows is what a person asked for.
    pub was_given_up: bool,
}

/// Follows the attempts of a task from the first to the last. The way through the alternatives never goes back.
pub fn standing(spec: &PlanTask, attempts: &[Attempt]) -> TaskStanding {
    attempts.iter().fold(TaskStanding::default(), |standing, attempt| standing.after(spec, attempt))
}

impl TaskStanding {
    /// Adds what the runs that the task started have used up to now. Earlier choices were made when they had used less.
    #[must_use]
    pub fn with_delegated(mut self, budget: Budget, delegated: Delegated) -> Self {
        let Amount { cost, tokens } = Amount { cost: self.cost, tokens: self.tokens }.plus(delegated.spent);
        (self.cost, self.tokens, self.withheld) = (cost, tokens, delegated.withheld);
        if matches!(self.choice, Some(Choice::Retry | Choice::Alternative(_)))
            && let Some(overspent) = self.overspent(budget)
        {
            self.choice = Some(Choice::GiveUp(GivenUp::OverBudget(overspent)));
            self.was_given_up = true;
        }
        self
    }

    fn after(mut self, spec: &PlanTask, attempt: &Attempt) -> Self {
        let alternative = attempt.begun.alternative.and_then(|index| usize::try_from(index).ok());
        if alternative != self.alternative {
            (self.alternative, self.failures, self.parkings) = (alternative, 0, 0);
        }
        self.choice = None;
        let Some(outcome) = &attempt.outcome else { return self };
        let has_failed = attempt.state == AttemptState::Failed;
        if attempt.begun.executor != ExecutorName::shell().as_str() {
            self.book(outcome, has_failed.then_some(attempt.begun.number));
        }
        if has_failed {
            let choice = if self.was_given_up {
                // A person wanted one more attempt.
                Choice::GiveUp(GivenUp::Spent)
            } else {
                self.decide(spec, outcome)
            };
            self.was_given_up |= matches!(choice, Choice::GiveUp(_));
            self.choice = Some(choice);
        }
        self
    }

    /// An attempt that writ ended itself runs again only where the author or a person said so, which covers what it
    /// may have cost.
    fn book(&mut self, outcome: &AttemptOutcome, failed: Option<i64>) {
        match outcome.known_cost() {
            Some(cost) => self.cost = MicroUsd(self.cost.0.saturating_add(cost.0)),
            None => self.unknown_cost = self.unknown_cost.or(failed),
        }
        match outcome.known_tokens() {
            Some(tokens) => self.tokens = self.tokens.saturating_add(tokens),
            None => self.unknown_tokens = self.unknown_tokens.or(failed),
        }
    }

    fn decide(&mut self, spec: &PlanTask, outcome: &AttemptOutcome) -> Choice {
        let code = outcome.code.as_deref().map_or(FailureCode::Unknown, FailureCode::read);
        let is_limited = outcome.limited.is_some() && self.parkings < LIMITED_ATTEMPTS_MAX;
        if is_limited {
            self.parkings = self.parkings.saturating_add(1);
        } else {
            self.failures = self.failures.saturating_add(1);
        }
        let is_fatal = spec.policy.aborts_on_critical && is_critical(code) && !is_limited;
        // A model that would only cost too much again, or is limited anyway, is not worth its retries.
        let has_retries =
            self.failures <= spec.retries && code != FailureCode::CostLimitExceeded && !is_fatal;
        let are_spent = !has_retries || is_limited;
        let next = self.alternatives_left(spec).find(|&(_, trigger)| {
            let is_quick = matches!(trigger, FallbackTrigger::FirstError | FallbackTrigger::CriticalError);
            is_triggered(trigger, code, are_spent) && (is_quick || !is_fatal)
        });
        let choice = match next {
            Some((index, _)) => Choice::Alternative(index),
            None if is_fatal => return Choice::GiveUp(GivenUp::Critical),
            None if has_retries || is_limited => Choice::Retry,
            None if spec.alternatives.is_empty() => return Choice::GiveUp(GivenUp::Spent),
            None => return Choice::GiveUp(GivenUp::Exhausted),
        };
        let overspent = self.overspent(spec.budget).map(GivenUp::OverBudget);
        overspent.map_or(choice, Choice::GiveUp)
    }

    /// The alternative that the next attempt uses; `None` for what the task itself names.
    pub fn next_alternative(&self) -> Option<usize> {
        match self.choice {
            Some(Choice::Alternative(index)) => Some(index),
            // A person wants one more attempt after everything was tried.
            Some(Choice::GiveUp(_)) => None,
            Some(Choice::Retry) | None => self.alternative,
        }
    }

    /// The alternatives that come after the one in use.
    pub fn alternatives_left<'s>(
        &self,
        spec: &'s PlanTask,
    ) -> impl Iterator<Item = (usize, FallbackTrigger)> + use<'s> {
        let first = self.alternative.map_or(0, |index| index.saturating_add(1));
        spec.alternatives.iter().enumerate().skip(first).map(|(index, other)| (index, other.trigger))
    }

    /// Why the budget allows no further attempt. A task that spends nothing may do so with a budget of 0.
    pub fn overspent(&self, budget: Budget) -> Option<Overspent> {
        if let Some(max) = budget.cost {
            if let Some(attempt) = self.unknown_cost {
                return Some(Overspent::UnknownCost { attempt, max });
            }
            if self.cost >= max && self.cost.0 > 0 {
                return Some(Overspent::Cost { spent: self.cost, max });
            }
            let (spent, withheld) = (self.cost, self.withheld.cost);
            if withheld.0 > 0 && spent.0.saturating_add(withheld.0) >= max.0 {
                return Some(Overspent::WithheldCost { spent, withheld, max });
            }
        }
        let max = budget.tokens?;
        if let Some(attempt) = self.unknown_tokens {
            return Some(Overspent::UnknownTokens { attempt, max });
        }
        if self.tokens >= max && self.tokens > 0 {
            return Some(Overspent::Tokens { spent: self.tokens, max });
        }
        let (spent, withheld) = (self.tokens, self.withheld.tokens);
        let is_used_up = withheld > 0 && spent.saturating_add(withheld) >= max;
        is_used_up.then_some(Overspent::WithheldTokens { spent, withheld, max })
    }
}

#[cfg(test)]
mod tests;
