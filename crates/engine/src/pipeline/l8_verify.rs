//! L8: whether it is done. The claim is not enough: checks that writ ran itself, and the budget, decide.

use contract::aocl::payload::Verification;
use contract::domain::check::CheckSeen;
use contract::domain::money::MicroUsd;
use contract::plan::Budget;

use super::Outcome;
use super::l7_delegate::Claim;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done { verified: bool },
    Failed { code: String, message: String },
}

pub(crate) struct Seen<'s> {
    pub(crate) number: i64,
    pub(crate) claim: &'s Claim,
    pub(crate) checks: &'s [CheckSeen],
    pub(crate) checks_expected: usize,
    pub(crate) budget: Budget,
    pub(crate) cost: Option<MicroUsd>,
    pub(crate) tokens: Option<i64>,
    /// Of everything in the write scope, after the checks.
    pub(crate) tree_digest: Option<&'s str>,
}

pub(crate) fn run(seen: &Seen<'_>) -> (Outcome, Verdict, Verification) {
    let verdict = judge(seen);
    let key = |field: &str| format!("C2.Task.t{}.{field}", seen.number);
    let (outcome, status, reason) = match &verdict {
        Verdict::Done { verified: true } => {
            let reason = format!("{} of {} checks passed", seen.checks.len(), seen.checks_expected);
            (Outcome::decided("VERIFIED", &reason), "passed", reason)
        }
        Verdict::Done { verified: false } => {
            let reason = "there is nothing to check; done is only claimed".to_owned();
            (Outcome::decided("CLAIMED", &reason), "unverified", reason)
        }
        Verdict::Failed { code, message } => {
            let decision = if *seen.claim == Claim::Success { "OVERTURNED" } else { "FAILED" };
            (Outcome::decided(decision, format!("{code}: {message}")), "failed", message.clone())
        }
    };
    let outcome = outcome
        .set(key("verified"), matches!(verdict, Verdict::Done { verified: true }))
        .set(key("tree_digest"), seen.tree_digest);
    let confidence = match verdict {
        Verdict::Done { verified: true } | Verdict::Failed { .. } => Some(1.0),
        Verdict::Done { verified: false } => None,
    };
    (outcome, verdict, Verification { status: status.to_owned(), reason, confidence })
}

fn judge(seen: &Seen<'_>) -> Verdict {
    let failed = |code: &str, message: String| Verdict::Failed { code: code.to_owned(), message };
    if let Claim::Failure { code, message } = seen.claim {
        return failed(code, message.clone());
    }
    if let (Some(cost), Some(max)) = (seen.cost, seen.budget.cost)
        && cost > max
    {
        return failed("E_COST_LIMIT_EXCEEDED", format!("it cost {cost}, the budget is {max}"));
    }
    if let (Some(tokens), Some(max)) = (seen.tokens, seen.budget.tokens)
        && tokens > max
    {
        return failed("E_COST_LIMIT_EXCEEDED", format!("it used {tokens} tokens, the budget is {max}"));
    }
    if let Some(check) = seen.checks.iter().find(|check| !check.passed) {
        let problem = check.problem.as_deref().unwrap_or("did not pass");
        return failed("CHECK_FAILED", format!("check `{}`: {problem}", check.command.join(" ")));
    }
    if seen.checks.len() < seen.checks_expected {
        return failed("CHECK_FAILED", "not every check was run".to_owned());
    }
    Verdict::Done { verified: seen.checks_expected > 0 }
}
