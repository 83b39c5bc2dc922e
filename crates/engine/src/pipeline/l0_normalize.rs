//! L0: brings the request into one form, and refuses work without its workspace.

use contract::aocl::Layer;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits::FINDINGS_TRACED_MAX;
use contract::domain::reason::Reason;
use contract::plan::without_effect;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, Stage};

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Normalize, Stage::Enter, run);

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.enter();
    let run = facts.run;
    let what = match run.plan.tasks.len() {
        0 => "a request without tasks".to_owned(),
        1 => "a plan of 1 task".to_owned(),
        n => format!("a plan of {n} tasks"),
    };
    let mut outcome = Outcome::decided("NORMALIZED", format!("{} read as {what}", run.kind.as_str()))
        .set("C0.Event.kind", run.kind)
        .set("C0.Event.digest", &run.document_digest)
        .set("C0.Event.intent", run.intent.as_ref().map(|intent| &intent.name))
        .set("C0.Event.objective", &run.objective)
        .set("C5.Execution.run_id", &run.id)
        .set("C5.Execution.workspace", &run.workspace);
    let ignored = without_effect(&run.plan).into_iter().take(FINDINGS_TRACED_MAX);
    outcome = ignored.fold(outcome, |outcome, field| outcome.and("NO_EFFECT", field));
    for warning in run.warnings.iter().take(WARNINGS_NAMED_MAX) {
        outcome = outcome.and(&warning.code, format!("{}: {}", warning.path, warning.message));
    }
    if run.warnings.len() > WARNINGS_NAMED_MAX {
        let reason = format!("{} more are in the answer", run.warnings.len() - WARNINGS_NAMED_MAX);
        outcome = outcome.and("MORE_WARNINGS", reason);
    }
    if run.plan.tasks.is_empty() || facts.workspace_exists {
        return outcome;
    }
    let reason = format!("the workspace {} is not a directory", run.workspace);
    let reason = Reason::coded(FailureCode::FileNotFound, reason);
    outcome.and("WORKSPACE_MISSING", reason.to_string()).refuse(reason)
}

/// Warnings about the document that the record of this layer has.
const WARNINGS_NAMED_MAX: usize = 20;

#[cfg(test)]
mod tests;
