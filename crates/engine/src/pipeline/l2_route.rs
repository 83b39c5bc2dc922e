//! L2: routes the request to executors, answers a reserved intent itself, or refuses it.

use contract::aee::{self, Type, intents};
use contract::aocl::Layer;
use contract::intake::{RUN_PLAN, RUN_TASK};
use contract::json::Value;
use serde_json::json;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, RunFacts, Stage};

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Route, Stage::Enter, run);

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.enter();
    let run = facts.run;
    if !run.plan.tasks.is_empty() {
        let mut executors: Vec<&str> = run.plan.tasks.iter().map(|task| task.executor.as_str()).collect();
        executors.sort_unstable();
        executors.dedup();
        let reason = format!("to {}", executors.join(", "));
        return Outcome::decided("ROUTED", reason).set("C5.Execution.executors", executors);
    }
    let Some(intent) = &run.intent else {
        return refuse("there is nothing to do");
    };
    match answer(&intent.name, &intent.payload, facts) {
        Some(answer) => Outcome::decided("DIRECT_ANSWER", format!("{} needs no executor", intent.name))
            .set("C5.Execution.answer", &answer)
            .answer(answer),
        None => refuse(&format!("no route for the intent {}", intent.name)),
    }
}

fn refuse(reason: &str) -> Outcome {
    Outcome::decided("NO_ROUTE", reason).refuse(reason)
}

/// The answer to a reserved intent. These negotiate between peers and never ask for work.
fn answer(intent: &str, payload: &Value, facts: &RunFacts<'_>) -> Option<Value> {
    match intent {
        intents::STATUS_PING => Some(json!({"pong": true, "ts": facts.now})),
        intents::STATUS_HEALTH => {
            Some(json!({"status": if facts.is_healthy { "healthy" } else { "degraded" }}))
        }
        intents::SPEC_QUERY => Some(json!({"aee_version": aee::VERSION, "extensions": ["aocl"]})),
        intents::CAPABILITY_LIST => {
            let filter = payload.get("namespace_filter").and_then(Value::as_str).unwrap_or("");
            let known = intents::ALL.iter().copied().chain([RUN_PLAN, RUN_TASK]);
            let fitting: Vec<&str> = known.filter(|name| name.starts_with(filter)).collect();
            Some(json!({"intents": fitting}))
        }
        intents::CONTEXT_FETCH => match &facts.envelope {
            Some(envelope) => Some(json!({"found": true, "envelope": envelope})),
            None => Some(json!({"found": false})),
        },
        intents::CONTEXT_REFUTE => Some(json!({"acknowledged": true})),
        intents::VALIDATE_PAYLOAD => {
            let about = payload.get("intent").and_then(Value::as_str).unwrap_or("");
            let kind =
                payload.get("type_hint").and_then(Value::as_str).and_then(Type::parse).unwrap_or(Type::Task);
            let judged = payload.get("payload_to_validate").unwrap_or(&Value::Null);
            let errors: Vec<String> =
                intents::check(about, kind, judged).sorted().iter().map(ToString::to_string).collect();
            Some(json!({"valid": errors.is_empty(), "errors": errors}))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
