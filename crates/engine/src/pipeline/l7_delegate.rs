//! L7: what came back from the executor, and what it claims.

use contract::domain::time::human_duration;
use std::time::Duration;

use super::Outcome;
use crate::executor::Ended;

/// What the executor says of its own work. Never more than a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claim {
    Success,
    Failure { code: String, message: String },
}

pub(crate) fn run(number: i64, ended: &Ended, claim: &Claim, took: Duration) -> Outcome {
    let key = |field: &str| format!("C2.Task.t{number}.{field}");
    let outcome = match claim {
        Claim::Success => {
            Outcome::decided("RETURNED", format!("claims success after {}", human_duration(took)))
        }
        Claim::Failure { code, message } => Outcome::decided("EXECUTOR_FAILED", format!("{code}: {message}")),
    };
    let outcome = match ended.leftovers_killed {
        0 => outcome,
        n => outcome.and("LEFTOVERS_ENDED", format!("{n} processes outlived the executor and were ended")),
    };
    outcome
        .set(key("exit_code"), ended.exit_code)
        .set(key("claim"), if *claim == Claim::Success { "success" } else { "failure" })
}
