//! L10: summarizes the walk, and keeps a lesson for every task that failed.

use contract::aocl::Layer;
use contract::aocl::payload::{RunSummary, Verification};
use contract::domain::limits;
use contract::domain::status::{Evidence, Status};

use super::Outcome;
use super::layer::{Handed, LayerInput, LayerSpec, Stage};

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Audit, Stage::Leave, run);

fn run(input: &LayerInput<'_>) -> Outcome {
    let (facts, view) = (input.leave(), &input.view);
    let tasks = facts.tasks;
    let mut outcome = Outcome::new();
    let failed = tasks.iter().filter(|(task, _)| task.status == Status::Failed);
    let mut lessons = 0;
    // The context is digested after each layer, so it must not grow with the run. The brief of a task that is repeated
    // has the results of its attempts in any case.
    for (task, _) in failed.take(limits::LESSONS_MAX) {
        let Some(part) = task.part.as_ref() else { continue };
        let reason = task.blocked_reason.as_ref().map_or_else(|| "failed".to_owned(), ToString::to_string);
        // The next walk's brief is built from this.
        outcome =
            outcome.set(format!("C6.Audit.lessons.t{}", part.number), format!("failed before: {reason}"));
        lessons += 1;
    }
    let verified = tasks.iter().filter(|(task, _)| task.evidence == Some(Evidence::Verified)).count();
    let status = if tasks.is_empty() || verified == tasks.len() { "passed" } else { "incomplete" };
    let verification = Verification {
        status: status.to_owned(),
        reason: format!("{verified} of {} tasks verified", tasks.len()),
        confidence: None,
    };
    // A repeated walk runs some layers again.
    let mut executed: Vec<String> = Vec::new();
    for id in view.executed.iter().map(|done| done.id.as_str()).chain([input.id]) {
        if !executed.iter().any(|known| known == id) {
            executed.push(id.to_owned());
        }
    }
    let left_out = view.delegations.len().saturating_sub(limits::DELEGATIONS_LISTED_MAX);
    let notes = [
        (lessons > 0).then(|| format!("{lessons} lessons kept for the next attempt")),
        (left_out > 0).then(|| format!("{left_out} more delegations are in the trace")),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let summary = RunSummary {
        run_id: facts.run.id.to_string(),
        stack_id: facts.stack_id.to_owned(),
        layers_executed: executed,
        layers_bypassed: Vec::new(),
        branch_taken: facts.branch.clone(),
        timing_ms_total: facts.total_ms,
        delegations: view.delegations.iter().take(limits::DELEGATIONS_LISTED_MAX).cloned().collect(),
        verification: Some(verification),
        refs: vec![format!("writ://run/{}", facts.run.id)],
        notes: (!notes.is_empty()).then(|| notes.join("; ")),
    };
    let reason = format!("{} delegations, {lessons} lessons", view.delegations.len());
    let layers = summary.layers_executed.len();
    outcome.and("AUDITED", reason).set("C6.Audit.layers", layers).giving(Handed::Summary(Box::new(summary)))
}

#[cfg(test)]
mod tests;
