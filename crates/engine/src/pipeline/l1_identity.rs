//! L1: who asks, and how deep in a chain of runs that started runs.

use contract::domain::limits;
use contract::domain::run::NewRun;

use super::Outcome;

pub(crate) fn run(run: &NewRun) -> Outcome {
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
    outcome.and("DEPTH_EXCEEDED", &reason).set("C6.Audit.refused", reason).halt()
}
