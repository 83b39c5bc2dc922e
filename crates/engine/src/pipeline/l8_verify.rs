//! L8: decides whether a task is done. A claim is not enough: checks that writ ran itself and the budget decide.

use std::collections::BTreeMap;

use contract::aocl::Layer;
use contract::aocl::payload::Verification;
use contract::domain::attempt::CostBasis;
use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::failure_code::FailureCode;
use contract::domain::limits::FINDINGS_TRACED_MAX;
use contract::domain::money::MicroUsd;
use contract::domain::outside::Outside;
use contract::domain::plan::Budget;
use contract::domain::reason::{Reason, ReasonRule};
use contract::domain::report::{CheckpointSeen, Difference};

use super::Outcome;
use super::l7_delegate::ExecutorClaim;
use super::layer::{Handed, Judgment, LayerInput, LayerSpec, Stage};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptVerdict {
    Done {
        verified: bool,
    },
    /// It has finished, but its evidence is withheld.
    Withheld {
        /// Whether it has checks and they passed.
        checked: bool,
        reason: String,
    },
    Failed(Reason),
}

impl AttemptVerdict {
    /// Why the task is not done, for people.
    pub(crate) fn told(&self) -> String {
        match self {
            AttemptVerdict::Done { .. } => String::new(),
            AttemptVerdict::Withheld { reason, .. } => reason.clone(),
            AttemptVerdict::Failed(reason) => reason.to_string(),
        }
    }

    /// Whether the task must not be tried again.
    pub(crate) fn is_aborted(&self) -> bool {
        matches!(self, AttemptVerdict::Failed(Reason { rule: Some(ReasonRule::CheckpointAborted), .. }))
    }

    /// The same for work that was merged with something that its checks have not seen.
    pub(crate) fn withheld(self, reason: Option<String>) -> Self {
        match (self, reason) {
            (AttemptVerdict::Done { verified: true }, Some(reason)) => {
                AttemptVerdict::Withheld { checked: true, reason }
            }
            (verdict, _) => verdict,
        }
    }

    /// The same with its rule, for the record.
    fn recorded(&self) -> String {
        match self {
            AttemptVerdict::Failed(Reason { rule: Some(rule), text, .. }) => format!("{rule}: {text}"),
            AttemptVerdict::Failed(_) | AttemptVerdict::Withheld { .. } | AttemptVerdict::Done { .. } => {
                self.told()
            }
        }
    }
}

/// What the runner fetched about an attempt after its checks.
pub(crate) struct VerifyFacts<'s> {
    pub(crate) number: i64,
    pub(crate) claim: &'s ExecutorClaim,
    pub(crate) checks: &'s [CheckSeen],
    pub(crate) checks_expected: usize,
    pub(crate) spent: Spending<'s>,
    /// Of everything in the write scope, after the checks.
    pub(crate) tree_digest: Option<&'s str>,
    /// What changed outside its scope, where it has one.
    pub(crate) outside: Option<&'s Outside>,
    /// Why its evidence is withheld.
    pub(crate) withheld: &'s [String],
    pub(crate) checkpoints: &'s [CheckpointSeen],
    /// The checkpoint that failed and ends the task.
    pub(crate) aborted: Option<&'s str>,
    /// Where the executor's claims differ from what was seen.
    pub(crate) findings: &'s [Difference],
    /// Whether what is done is only a part of the work.
    pub(crate) is_partial: bool,
}

/// What a task cost, and what it may cost.
#[derive(Clone, Copy)]
pub(crate) struct Spending<'s> {
    pub(crate) budget: Budget,
    /// How many attempts there were, with this one.
    pub(crate) attempts: usize,
    /// Whether the costs are also of runs that the attempts started.
    pub(crate) has_delegated: bool,
    /// The cost of all attempts together; `None` if this one did not report its own.
    pub(crate) cost: Option<MicroUsd>,
    pub(crate) tokens: Option<i64>,
    /// How the cost of this one is known.
    pub(crate) cost_basis: Option<&'s CostBasis>,
    /// Whether it reported only its input tokens, or only its output tokens.
    pub(crate) is_half_counted: bool,
}

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Verify, Stage::End, run).required();

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = &input.end().verify;
    let verdict = judge(facts);
    let key = |field: &str| format!("C2.Task.t{}.{field}", facts.number);
    let (decision, told, verification) = match &verdict {
        AttemptVerdict::Done { verified: true } => {
            let reason = format!("{} of {} checks passed", facts.checks.len(), facts.checks_expected);
            ("VERIFIED", reason.clone(), verification("passed", reason, Some(1.0)))
        }
        AttemptVerdict::Done { verified: false } => {
            let reason = "there is nothing to check; done is only claimed".to_owned();
            ("CLAIMED", reason.clone(), verification("unverified", reason, None))
        }
        AttemptVerdict::Withheld { reason, .. } => {
            ("WITHHELD", reason.clone(), verification("unverified", reason.clone(), None))
        }
        AttemptVerdict::Failed(reason) => {
            let decision = match facts.claim {
                ExecutorClaim::Success => "OVERTURNED",
                ExecutorClaim::Failure { .. } => "FAILED",
            };
            (decision, verdict.recorded(), verification("failed", reason.text.clone(), Some(1.0)))
        }
    };
    let outside = facts.outside.filter(|outside| !outside.is_empty());
    let outcome = costed(Outcome::decided(decision, told), &facts.spent);
    let mut outcome = claimed(outcome, facts, &verdict);
    if let Some(reason) = outside.and_then(Outside::unattributed) {
        outcome = outcome.and("UNATTRIBUTED", reason);
    }
    if let Some(outside) = outside {
        outcome = outcome.set(key("outside"), outside);
    }
    outcome
        .set(key("verified"), verdict == AttemptVerdict::Done { verified: true })
        .set(key("tree_digest"), facts.tree_digest)
        .giving(Handed::Judged(Box::new(Judgment { verdict, verification })))
}

/// The checkpoints, and where the claims of the executor differ from what was seen.
fn claimed(mut outcome: Outcome, facts: &VerifyFacts<'_>, verdict: &AttemptVerdict) -> Outcome {
    let key = |field: &str| format!("C2.Task.t{}.{field}", facts.number);
    if facts.is_partial && !matches!(verdict, AttemptVerdict::Failed(_)) {
        outcome = outcome.and("PARTIAL_SUCCESS", "only a part of the work is done");
    }
    for point in facts.checkpoints.iter().take(FINDINGS_TRACED_MAX) {
        let problem = point.problem.as_deref().map(|problem| format!(": {problem}")).unwrap_or_default();
        let reason = format!("{} {}{problem}", point.checkpoint_id, point.status);
        outcome = outcome.and("CHECKPOINT", reason);
    }
    for finding in facts.findings.iter().take(FINDINGS_TRACED_MAX) {
        outcome = outcome.and("FINDING", finding.told());
    }
    if let Some(more) = facts.findings.len().checked_sub(FINDINGS_TRACED_MAX + 1) {
        outcome = outcome.and("FINDING", format!("{} more are in the attempt's report", more + 1));
    }
    if !facts.checkpoints.is_empty() {
        let statuses = facts.checkpoints.iter().map(|point| (&point.checkpoint_id, point.status));
        outcome = outcome.set(key("checkpoints"), statuses.collect::<BTreeMap<_, _>>());
    }
    if facts.findings.is_empty() { outcome } else { outcome.set(key("findings"), facts.findings.len()) }
}

/// The basis of a cost that the executor did not report.
fn costed(outcome: Outcome, spent: &Spending<'_>) -> Outcome {
    let outcome = match spent.budget.tokens.filter(|_| spent.is_half_counted) {
        Some(max) => {
            let reason = format!("it reported only a part of its tokens; the budget is {max} tokens");
            outcome.and("COST_UNKNOWN", reason)
        }
        None => outcome,
    };
    match (spent.cost_basis, spent.budget.cost) {
        (Some(CostBasis::Computed { model, as_of }), _) => {
            let reason = format!("from its tokens, at the price of {model} of {as_of} in the configuration");
            outcome.and("COST_COMPUTED", reason)
        }
        (None, Some(max)) => {
            let reason = format!(
                "it did not say what it cost, and the configuration has no price; the budget is {max}"
            );
            outcome.and("COST_UNKNOWN", reason)
        }
        (None, None) | (Some(_), _) => outcome,
    }
}

/// The verdict where a layer refused to judge: nothing is granted.
pub(crate) fn refused(reason: &str) -> Judgment {
    let refused = Reason::coded(FailureCode::Unknown, reason).with_rule(ReasonRule::Refused);
    let verdict = AttemptVerdict::Failed(refused);
    Judgment { verdict, verification: verification("failed", reason.to_owned(), None) }
}

fn verification(status: &str, reason: String, confidence: Option<f64>) -> Verification {
    Verification { status: status.to_owned(), reason, confidence }
}

fn judge(facts: &VerifyFacts<'_>) -> AttemptVerdict {
    let failed = |code, message: String| AttemptVerdict::Failed(Reason::coded(code, message));
    let by_rule =
        |code, rule, message: String| AttemptVerdict::Failed(Reason::coded(code, message).with_rule(rule));
    // AOP has no code for a check that did not pass.
    let unchecked = |message| by_rule(FailureCode::Unknown, ReasonRule::CheckFailed, message);
    if let ExecutorClaim::Failure { code, message } = facts.claim {
        return failed(*code, message.clone());
    }
    if let Some(message) = overspent(&facts.spent) {
        return failed(FailureCode::CostLimitExceeded, message);
    }
    if let Some(check) = first_failed(facts.checks) {
        let Some(id) = facts.aborted else { return unchecked(check.fault()) };
        let message = format!("checkpoint {id} ends the task: {}", check.fault());
        return by_rule(FailureCode::Unknown, ReasonRule::CheckpointAborted, message);
    }
    if let Some(message) = facts.outside.and_then(Outside::refusal) {
        return by_rule(FailureCode::PermissionDenied, ReasonRule::ScopeViolation, message);
    }
    if facts.checks.len() < facts.checks_expected {
        return unchecked("not every check was run".to_owned());
    }
    let checked = facts.checks_expected > 0;
    if facts.withheld.is_empty() {
        return AttemptVerdict::Done { verified: checked };
    }
    AttemptVerdict::Withheld { checked, reason: facts.withheld.join("; ") }
}

/// How the budget was exceeded, if it was.
fn overspent(spent: &Spending<'_>) -> Option<String> {
    let who = match (spent.attempts > 1, spent.has_delegated) {
        (true, true) => "its attempts and the runs that they started together",
        (true, false) => "its attempts together",
        (false, true) => "it and the runs that it started together",
        (false, false) => "it",
    };
    if let (Some(cost), Some(max)) = (spent.cost, spent.budget.cost)
        && cost > max
    {
        return Some(format!("{who} cost {cost}, the budget is {max}"));
    }
    let (tokens, max) = (spent.tokens?, spent.budget.tokens?);
    (tokens > max).then(|| format!("{who} used {tokens} tokens, the budget is {max}"))
}

#[cfg(test)]
mod tests;
