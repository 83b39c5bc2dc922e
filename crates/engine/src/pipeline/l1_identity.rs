//! L1: identifies the caller, and refuses a run that is nested too deep in runs that started runs.

use contract::domain::limits;

use super::{Outcome, RunFacts};

pub(crate) fn run(facts: &RunFacts<'_>) -> Outcome {
    let run = facts.run;
    let kind = run.requested_by.split('.').next().unwrap_or("");
    let outcome = Outcome::decided("IDENTIFIED", format!("{} at depth {}", run.requested_by, run.depth))
        .set("C1.Identity.requested_by", &run.requested_by)
        .set("C1.Identity.kind", kind)
        .set("C1.Identity.depth", run.depth)
        .set("C1.Identity.parent_run", &run.parent_run);
    if run.depth <= limits::DELEGATION_DEPTH_MAX {
        return outcome;
    }
    let reason =
        format!("E_MAX_DEPTH_EXCEEDED: depth {} is over {}", run.depth, limits::DELEGATION_DEPTH_MAX);
    outcome.and("DEPTH_EXCEEDED", &reason).refuse(reason)
}

#[cfg(test)]
mod tests;
