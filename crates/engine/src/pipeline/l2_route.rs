//! L2: where the request goes: to executors, to an answer we can give ourselves, or nowhere.

use contract::aee::{self, Envelope, Type, intents};
use contract::domain::run::NewRun;
use contract::domain::time::Timestamp;
use contract::intake::{RUN_PLAN, RUN_TASK};
use contract::json::Value;
use serde_json::json;

use super::Outcome;

/// What the runner fetched for intents that ask about the store.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) envelope: Option<Envelope>,
    pub(crate) healthy: bool,
}

pub(crate) fn run(run: &NewRun, fetched: &Fetched, now: Timestamp) -> Outcome {
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
    match answer(&intent.name, &intent.payload, fetched, now) {
        Some(answer) => Outcome::decided("DIRECT_ANSWER", format!("{} needs no executor", intent.name))
            .set("C5.Execution.answer", answer)
            .halt(),
        None => refuse(&format!("no route for the intent {}", intent.name)),
    }
}

fn refuse(reason: &str) -> Outcome {
    Outcome::decided("NO_ROUTE", reason).set("C6.Audit.refused", reason).halt()
}

/// The reserved intents: negotiation between peers, never work.
fn answer(intent: &str, payload: &Value, fetched: &Fetched, now: Timestamp) -> Option<Value> {
    match intent {
        intents::STATUS_PING => Some(json!({"pong": true, "ts": now})),
        intents::STATUS_HEALTH => {
            Some(json!({"status": if fetched.healthy { "healthy" } else { "degraded" }}))
        }
        intents::SPEC_QUERY => Some(json!({"aee_version": aee::VERSION, "extensions": ["aocl"]})),
        intents::CAPABILITY_LIST => {
            let filter = payload.get("namespace_filter").and_then(Value::as_str).unwrap_or("");
            let known = intents::ALL.iter().copied().chain([RUN_PLAN, RUN_TASK]);
            let fitting: Vec<&str> = known.filter(|name| name.starts_with(filter)).collect();
            Some(json!({"intents": fitting}))
        }
        intents::CONTEXT_FETCH => match &fetched.envelope {
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
