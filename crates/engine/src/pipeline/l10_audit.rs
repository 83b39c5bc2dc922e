//! L10: what stays: the summary of the walk, and a lesson for every task that did not work out.

use contract::aocl::payload::{Delegation, RunSummary, Verification};
use contract::domain::run::NewRun;
use contract::domain::status::Status;
use contract::domain::task::Task;

use super::{Outcome, STACK_ID};

pub(crate) struct Walked<'w> {
    pub(crate) run: &'w NewRun,
    pub(crate) executed: &'w [String],
    pub(crate) delegations: &'w [Delegation],
    pub(crate) branch: Option<String>,
    pub(crate) total_ms: u64,
}

pub(crate) fn run(walked: &Walked<'_>, tasks: &[&Task]) -> (Outcome, RunSummary) {
    let mut outcome = Outcome::default();
    let mut lessons = 0;
    for task in tasks {
        let Some(part) = task.part.as_ref().filter(|_| task.status == Status::Failed) else { continue };
        let reason = task.blocked_reason.as_deref().unwrap_or("failed");
        // The next walk's brief is built from this.
        outcome =
            outcome.set(format!("C6.Audit.lessons.t{}", part.number), format!("failed before: {reason}"));
        lessons += 1;
    }
    let verified =
        tasks.iter().filter(|task| task.evidence == Some(contract::domain::status::Evidence::Verified));
    let verified = verified.count();
    let status = if tasks.is_empty() || verified == tasks.len() { "passed" } else { "incomplete" };
    let verification = Verification {
        status: status.to_owned(),
        reason: format!("{verified} of {} tasks verified", tasks.len()),
        confidence: None,
    };
    let mut executed = Vec::new();
    for id in walked.executed {
        if !executed.contains(id) {
            executed.push(id.clone());
        }
    }
    executed.push(contract::aocl::Layer::Audit.id().to_owned());
    let summary = RunSummary {
        run_id: walked.run.id.to_string(),
        stack_id: STACK_ID.to_owned(),
        layers_executed: executed,
        layers_bypassed: Vec::new(),
        branch_taken: walked.branch.clone(),
        timing_ms_total: walked.total_ms,
        delegations: walked.delegations.to_vec(),
        verification: Some(verification),
        refs: vec![format!("writ://run/{}", walked.run.id)],
        notes: (lessons > 0).then(|| format!("{lessons} lessons kept for the next attempt")),
    };
    let reason = format!("{} delegations, {lessons} lessons", walked.delegations.len());
    (outcome.and("AUDITED", reason).set("C6.Audit.layers", summary.layers_executed.len()), summary)
}
