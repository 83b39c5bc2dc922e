//! The tables: what each kind of case looks like, and how it is run.

use std::time::Duration;

use serde_json::{Value, json};

use super::given::Given;
use super::{Judge, compare};
use crate::conformance::Mismatch;
use crate::domain::scope::ScopeFault;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::operator::fencing::{Grants, Refused, Request};
use crate::operator::{
    Claim, Delta, DeltaOptions, Lock, Mode, TaskId, apply_deltas, conflict, validate_reconcile,
    validate_watchdog,
};
use crate::verdict::Verdict;
use crate::{injection, secrets};

/// What a case of a table is called and how it is judged; none where it is of no table of ours.
pub(super) fn recognise(vector: &Value) -> Option<(String, Judge)> {
    let has = |name: &str| vector.get(name).is_some();
    let text = |name: &str| vector[name].as_str().map(str::to_owned);
    if has("in") && has("out") {
        return Some((format!("normalize {}", vector["in"]), normalize));
    }
    if has("a") && has("b") && has("conflict") {
        return Some((format!("conflict {} {}", vector["a"], vector["b"]), conflicts));
    }
    if has("from") && has("to") && has("legal") {
        return Some((format!("{} -> {}", text("from")?, text("to")?), transition));
    }
    let judge: Judge = match vector {
        _ if vector["base"].is_object() && vector["streams"].is_array() => deltas,
        _ if vector["input"]["tasks"].is_array() || vector["input"]["now"].is_string() && !has("issues") => {
            watchdog
        }
        _ if vector["input"].is_object() && vector["issues"].is_array() => reconcile,
        _ if vector["steps"].is_array() => fencing,
        _ if vector["parts"].is_array() && has("pattern") => secret,
        _ if vector["text"].is_string() && has("rule") => order,
        _ => return None,
    };
    Some((text("name")?, judge))
}

fn expected(what: &str, expected: &Value, found: &Value) -> Result<(), Mismatch> {
    if expected == found {
        return Ok(());
    }
    Err(Mismatch(format!("expected {what} {expected}, got {found}")))
}

/// `{in, options?, out}`: the normal form of a path, or why there is none.
fn normalize(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let given = Given::read(&vector["options"])?;
    let found = match claim(&vector["in"], "T-1", &Value::Null, &given) {
        Ok(claim) => json!(claim.scope),
        Err(fault) => {
            let mut found = json!({"error": Refused::Scope(fault).code()});
            if vector["out"].get("rule").is_some() {
                found["rule"] = fault.rule().into();
            }
            found
        }
    };
    expected("the form", &vector["out"], &found)
}

fn claim(resource: &Value, task: &str, mode: &Value, given: &Given) -> Result<Claim, ScopeFault> {
    let lock = Lock {
        task_id: TaskId::parse(task).expect("BUG: a task id of ours"),
        resource: resource.as_str().unwrap_or_default().to_owned(),
        active: true,
        x_mode: mode.as_str().and_then(Mode::parse),
        x_fencing_token: None,
        extra: serde_json::Map::new(),
    };
    lock.claim(&given.options())
}

/// `{a, b, options?, task_a?, task_b?, mode_a?, mode_b?, active_a?, active_b?, conflict}`, both ways round.
fn conflicts(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let given = Given::read(&vector["options"])?;
    let side = |side: &str, task: &str| {
        let member = |name: &str| &vector[format!("{name}_{side}").as_str()];
        let same = vector["task_a"].is_string() && vector["task_a"] == vector["task_b"];
        let task = if same { "T-1" } else { task };
        let claim = claim(&vector[side], task, member("mode"), &given);
        claim.map(|claim| Claim { active: *member("active") != false, ..claim })
    };
    let found = match (side("a", "T-1"), side("b", "T-2")) {
        (Err(fault), _) | (_, Err(fault)) => json!(Refused::Scope(fault).code()),
        (Ok(a), Ok(b)) => {
            let fold = given.options().fold;
            let (there, back) = (conflict(&a, &b, fold), conflict(&b, &a, fold));
            if there != back {
                return Err(Mismatch(format!("{there} one way round, {back} the other")));
            }
            json!(there)
        }
    };
    expected("a conflict", &vector["conflict"], &found)
}

/// `{from, to, legal}`.
fn transition(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let status = |name: &str| {
        let status = vector[name].as_str().and_then(Status::parse);
        status.ok_or_else(|| Mismatch(format!("`{name}` is no status")))
    };
    expected("legal", &vector["legal"], &json!(status("from")?.may_become(status("to")?)))
}

/// `{base, streams, options?, expect{error, rule, index} | expect{rows, version, ignored}}`.
fn deltas(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let read = |name: &str, error: serde_json::Error| Mismatch(format!("`{name}` cannot be read: {error}"));
    let base = serde_json::from_value(vector["base"].clone()).map_err(|error| read("base", error))?;
    let streams: Vec<Vec<Delta>> =
        serde_json::from_value(vector["streams"].clone()).map_err(|error| read("streams", error))?;
    let given = Given::read(&vector["options"])?;
    let base_version = vector["x_base_version"].as_u64();
    let options = DeltaOptions { strict: given.options().strict, base_version };
    let expect = &vector["expect"];
    let applied = match apply_deltas(&base, &streams, options) {
        Ok(applied) => applied,
        Err(refusal) => return refused(expect, &refusal),
    };
    if expect["error"].is_string() {
        return Err(Mismatch(format!("expected {expect}, but it was applied")));
    }
    let ledger = json!(applied.ledger);
    for (task_id, row) in expect["rows"].as_object().into_iter().flatten() {
        for (column, value) in row.as_object().into_iter().flatten() {
            expected(&format!("{task_id} {column}"), value, &ledger["rows"][task_id][column])?;
        }
    }
    if let Some(version) = expect.get("version") {
        expected("the version", version, &ledger["version"])?;
    }
    let ignored: Vec<&str> = applied.ignored.iter().map(|ignored| ignored.delta_id.as_str()).collect();
    expect.get("ignored").map_or(Ok(()), |expect| expected("ignored", expect, &json!(ignored)))
}

fn refused(expect: &Value, refusal: &Verdict) -> Result<(), Mismatch> {
    let details = &refusal.details;
    let found = [
        ("error", json!(refusal.code)),
        ("rule", json!(details.rule)),
        ("index", json!(details.more.get("index"))),
        ("expected", json!(details.more.get("expected"))),
        ("found", json!(details.more.get("found"))),
    ];
    if expect.get("error").is_none() {
        return Err(Mismatch(format!("expected it to be applied, got {}: {}", refusal.code, refusal.reason)));
    }
    for (name, found) in found {
        if let Some(expect) = expect.get(name) {
            expected(name, expect, &found)?;
        }
    }
    Ok(())
}

/// `{input, expect{allow, code, timed_out?}}`.
fn watchdog(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let given = Given::read(&vector["options"])?;
    let verdict = validate_watchdog(vector["input"].to_string().as_bytes(), &given.options());
    compare(&vector["expect"], &verdict)?;
    let Some(silent) = vector["expect"].get("timed_out") else { return Ok(()) };
    let found = verdict.details.more.get("timed_out").and_then(Value::as_array);
    let found: Vec<&Value> = found.into_iter().flatten().map(|task| &task["task_id"]).collect();
    expected("timed out", silent, &json!(found))
}

/// `{input, expect{allow, code}, issues[[rule, code, task_id]]}`; the order of the issues does not matter.
fn reconcile(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let given = Given::read(&vector["options"])?;
    let verdict = validate_reconcile(vector["input"].to_string().as_bytes(), &given.options());
    compare(&vector["expect"], &verdict)?;
    let issues = verdict.details.more.get("issues").and_then(Value::as_array);
    let found = issues.into_iter().flatten();
    let found = found.map(|issue| json!([issue["rule"], issue["code"], issue["task_id"]]).to_string());
    let wanted = vector["issues"].as_array().into_iter().flatten().map(Value::to_string);
    let (found, wanted) = (sorted(found), sorted(wanted));
    if found == wanted { Ok(()) } else { Err(Mismatch(format!("expected {wanted:?}, got {found:?}"))) }
}

fn sorted(issues: impl Iterator<Item = String>) -> Vec<String> {
    let mut issues: Vec<String> = issues.collect();
    issues.sort_unstable();
    issues.dedup();
    issues
}

/// `{steps[[verb, …, answer]]}`: grants, heartbeats, results and sweeps, one after the other.
fn fencing(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let given = Given::read(&vector["options"])?;
    let mut grants = Grants::default();
    for (index, step) in vector["steps"].as_array().into_iter().flatten().enumerate() {
        let found = take_step(&mut grants, step, &given)
            .ok_or_else(|| Mismatch(format!("step {} cannot be read: {step}", index + 1)))?;
        let answer = step.as_array().and_then(|parts| parts.last()).unwrap_or(&Value::Null);
        expected(&format!("step {} to answer", index + 1), answer, &found)?;
    }
    Ok(())
}

/// Takes one step and gives its answer; none where the step cannot be read.
fn take_step(grants: &mut Grants, step: &Value, given: &Given) -> Option<Value> {
    let answer = |result: Result<(), Refused>| {
        Some(match result {
            Ok(()) => json!("OK"),
            Err(refused) => json!(refused.code()),
        })
    };
    let time = |at: usize| Some(Timestamp::from_millis(step[at].as_i64()?.checked_mul(1000)?));
    let verb = step[0].as_str()?;
    if verb == "sweep" {
        return Some(json!(grants.sweep(time(1)?)));
    }
    let task_id = &TaskId::parse(step[1].as_str()?)?;
    match verb {
        "acquire" => {
            let resources: Vec<String> = serde_json::from_value(step[2].clone()).ok()?;
            let timeout = Duration::from_secs(step[3].as_u64()?);
            let request = Request { task_id, resources: &resources, timeout };
            Some(match grants.acquire(request, time(4)?, &given.options()) {
                Ok(token) => json!(token),
                Err(refused) => json!(refused.code()),
            })
        }
        "heartbeat" => answer(grants.heartbeat(task_id, step[2].as_u64()?, time(3)?)),
        "submit" => answer(grants.submit(task_id, step[2].as_u64()?, time(3)?)),
        "release" => answer(grants.release(task_id, step[2].as_u64()?)),
        _ => None,
    }
}

/// `{parts, pattern}`: the rule that finds the secret; null where there is none. Scrubbed, nothing is left.
fn secret(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let text: String = vector["parts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    expected("the pattern", &vector["pattern"], &json!(secrets::find(&text)))?;
    let clean = secrets::scrub(&text);
    if secrets::find(&clean).is_some() || secrets::scrub(&clean) != clean {
        return Err(Mismatch("scrubbed once, something is left".to_owned()));
    }
    Ok(())
}

/// `{text, rule}`: the rule of the tripwire that the text breaks; null where it breaks none.
fn order(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let text = vector["text"].as_str().unwrap_or_default();
    expected("the rule", &vector["rule"], &json!(injection::find(text).map(|tripped| tripped.rule)))
}
