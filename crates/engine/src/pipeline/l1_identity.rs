//! L1: identifies the caller, and refuses a run that is nested too deep in runs that started runs.

use contract::aocl::Layer;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::run::NewRun;
use contract::domain::text::cut;
use contract::json::Value;
use serde_json::json;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, Stage};

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Identity, Stage::Enter, run);

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.enter();
    let run = facts.run;
    let kind = run.requested_by.split('.').next().unwrap_or("");
    let outcome = Outcome::decided("IDENTIFIED", format!("{} at depth {}", run.requested_by, run.depth))
        .set("C1.Identity.requested_by", &run.requested_by)
        .set("C1.Identity.kind", kind)
        .set("C1.Identity.depth", run.depth)
        .set("C1.Identity.parent_run", &run.parent_run);
    let outcome = with_session(outcome, run);
    if run.depth <= limits::DELEGATION_DEPTH_MAX {
        return outcome;
    }
    let reason = format!("depth {} is over {}", run.depth, limits::DELEGATION_DEPTH_MAX);
    let reason = Reason::coded(FailureCode::MaxDepthExceeded, reason);
    outcome.and("DEPTH_EXCEEDED", reason.to_string()).refuse(reason)
}

/// Who sent the TASKs of a session, and to whom.
fn with_session(outcome: Outcome, run: &NewRun) -> Outcome {
    let messages: Vec<&Value> = run.plan.tasks.iter().filter_map(|task| task.aop.as_ref()).collect();
    let Some(first) = messages.first() else { return outcome };
    let session = &first["session"];
    let from = |name: &str| session[name].as_str().unwrap_or("unknown").to_owned();
    let reason =
        format!("session {} of {} over {}", from("session_id"), from("orchestrator"), from("origin"));
    let tasks: Vec<Value> =
        messages.iter().take(limits::CONTEXT_TASKS_MAX).map(|task| sender(task)).collect();
    outcome.and("SESSION", reason).set("C1.Identity.session", session).set("C1.Identity.tasks", tasks)
}

/// A TASK's own fields and its origin, for people and audits.
fn sender(task: &Value) -> Value {
    let (work, target, metadata) = (&task["task"], &task["target"], &task["orchestration_metadata"]);
    let mut said = json!({
        "task_id": work["task_id"], "category": work["category"], "complexity": work["complexity"],
        "agent": target["agent_name"], "role": target["role"],
    });
    for name in ["initiator", "spec_author", "tags", "notes"] {
        if let Some(value) = metadata.get(name) {
            said[name] = shortened(value);
        }
    }
    said
}

/// The context is digested after each layer, so it must stay small.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(cut(text, TEXT_CHARS_MAX)),
        Value::Array(items) => items.iter().take(TAGS_MAX).map(shortened).collect(),
        other => other.clone(),
    }
}

const TEXT_CHARS_MAX: usize = 200;
const TAGS_MAX: usize = 20;

#[cfg(test)]
mod tests;
