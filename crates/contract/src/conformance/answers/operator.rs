//! Answers to the questions of the operator's tables.

use std::time::Duration;

use serde_json::{Value, json};

use super::given::OwnedOptions;
use crate::domain::crew::lock::{LockMode, LockRefusal};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::scope::ScopeFault;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::operator::fencing::{Grants, Request};
use crate::operator::{Code, Delta, DeltaOptions, Lock, Options, PathClaim, apply_deltas, conflict};
use crate::validate::operator::plain_options;
use crate::verdict::Verdict;
use crate::{injection, secrets};

pub(super) fn answer(ask: &str, question: &Value) -> Option<Value> {
    let given = OwnedOptions::read(&question["options"]).ok()?;
    let given = given.options();
    let options = plain_options(&given);
    match ask {
        "lock-normalize" => Some(json!({"out": normal(&question["in"], &options)})),
        "lock-conflict" => Some(json!({"conflict": conflicts(question, &options)})),
        "transition" => {
            let status = |name: &str| question[name].as_str().and_then(Status::parse);
            Some(json!({"legal": status("from")?.may_become(status("to")?)}))
        }
        "ledger-delta" => deltas(question, &options),
        "fencing" => fencing(question, &options),
        "secret" => Some(secret(question["text"].as_str()?)),
        "injection" => {
            let tripped = injection::find(question["text"].as_str()?);
            Some(json!({"rule": tripped.map(|tripped| tripped.rule)}))
        }
        _ => None,
    }
}

fn normal(resource: &Value, options: &Options<'_>) -> Value {
    match claim(resource, "T-1", &Value::Null, options) {
        Ok(claim) => json!(claim.scope),
        Err(fault) => json!({"error": Code::from(LockRefusal::Scope(fault)), "rule": fault.rule()}),
    }
}

fn claim(resource: &Value, task: &str, mode: &Value, options: &Options<'_>) -> Result<PathClaim, ScopeFault> {
    let lock = Lock {
        task_id: TaskRef::parse(task).expect("BUG: a task id of ours"),
        resource: resource.as_str().unwrap_or_default().to_owned(),
        active: true,
        x_mode: mode.as_str().and_then(LockMode::parse),
        x_fencing_token: None,
        extra: serde_json::Map::new(),
    };
    lock.claim(options)
}

/// Whether two locks conflict. The order must not matter; if it does, both answers are returned.
fn conflicts(question: &Value, options: &Options<'_>) -> Value {
    let side = |side: &str, task: &str| {
        let member = |name: &str| &question[format!("{name}_{side}").as_str()];
        let same = question["task_a"].is_string() && question["task_a"] == question["task_b"];
        let task = if same { "T-1" } else { task };
        let claim = claim(&question[side], task, member("mode"), options);
        claim.map(|claim| PathClaim { active: *member("active") != false, ..claim })
    };
    match (side("a", "T-1"), side("b", "T-2")) {
        (Err(fault), _) | (_, Err(fault)) => json!(Code::from(LockRefusal::Scope(fault))),
        (Ok(a), Ok(b)) => match (conflict(&a, &b, options.fold), conflict(&b, &a, options.fold)) {
            (there, back) if there == back => json!(there),
            (there, back) => json!([there, back]),
        },
    }
}

fn deltas(question: &Value, options: &Options<'_>) -> Option<Value> {
    let base = serde_json::from_value(question["base"].clone()).ok()?;
    let streams: Vec<Vec<Delta>> = serde_json::from_value(question["streams"].clone()).ok()?;
    let base_version = question["x_base_version"].as_u64();
    let applied = match apply_deltas(&base, &streams, DeltaOptions { strict: options.strict, base_version }) {
        Ok(applied) => applied,
        Err(refusal) => return Some(refused(&refusal)),
    };
    let mut answer = json!(applied.ledger);
    let ignored: Vec<&str> = applied.ignored.iter().map(|ignored| ignored.delta_id.as_str()).collect();
    answer["ignored"] = json!(ignored);
    Some(answer)
}

fn refused(refusal: &Verdict) -> Value {
    let details = &refusal.details;
    let more = |name: &str| details.more.get(name);
    json!({
        "error": refusal.code,
        "rule": details.rule,
        "index": more("index"),
        "expected": more("expected"),
        "found": more("found"),
    })
}

fn fencing(question: &Value, options: &Options<'_>) -> Option<Value> {
    let mut grants = Grants::default();
    let steps = question["steps"].as_array()?.iter();
    let answers: Option<Vec<Value>> = steps.map(|step| take_step(&mut grants, step, options)).collect();
    Some(json!({"answers": answers?}))
}

/// Runs one step and returns its answer; `None` if the step cannot be read.
fn take_step(grants: &mut Grants, step: &Value, options: &Options<'_>) -> Option<Value> {
    let answer = |result: Result<(), LockRefusal>| {
        Some(match result {
            Ok(()) => json!("OK"),
            Err(refused) => json!(Code::from(refused)),
        })
    };
    let time = |at: usize| Some(Timestamp::from_millis(step[at].as_i64()?.checked_mul(1000)?));
    let verb = step[0].as_str()?;
    if verb == "sweep" {
        return Some(json!(grants.sweep(time(1)?)));
    }
    let task_id = &TaskRef::parse(step[1].as_str()?)?;
    match verb {
        "acquire" => {
            let resources: Vec<String> = serde_json::from_value(step[2].clone()).ok()?;
            let timeout = Duration::from_secs(step[3].as_u64()?);
            let request = Request { task_id, resources: &resources, timeout };
            Some(match grants.acquire(request, time(4)?, options) {
                Ok(token) => json!(token),
                Err(refused) => json!(Code::from(refused)),
            })
        }
        "heartbeat" => answer(grants.heartbeat(task_id, step[2].as_u64()?, time(3)?)),
        "submit" => answer(grants.submit(task_id, step[2].as_u64()?, time(3)?)),
        "release" => answer(grants.release(task_id, step[2].as_u64()?)),
        _ => None,
    }
}

/// The rule that finds the secret, and whether nothing is left of it after scrubbing once.
fn secret(text: &str) -> Value {
    let scrubbed = secrets::scrub(text);
    let clean = secrets::find(&scrubbed).is_none() && secrets::scrub(&scrubbed) == scrubbed;
    json!({"pattern": secrets::find(text), "clean": clean})
}
