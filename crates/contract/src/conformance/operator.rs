//! The tables of the operator contracts. Whole documents name their validator and need nothing here.

mod changed;

use serde_json::{Value, json};

use super::table::{VectorTable, holds};
use super::{Case, Mismatch, VectorFile, listed, only, parsed, verdicts};
use crate::validate::Kind;

const CONTRACT: &str = "operator";

/// Detected by their members.
static TABLES: &[VectorTable] = &[
    VectorTable { ask: "lock-normalize", given: &["in"], may: &["options"], wanted: &["out"] },
    VectorTable {
        ask: "lock-conflict",
        given: &["a", "b"],
        may: &["options", "task_a", "task_b", "mode_a", "mode_b", "active_a", "active_b"],
        wanted: &["conflict"],
    },
    VectorTable { ask: "transition", given: &["from", "to"], may: &[], wanted: &["legal"] },
    VectorTable {
        ask: "ledger-delta",
        given: &["base", "streams"],
        may: &["options", "x_base_version"],
        wanted: &["expect"],
    },
    VectorTable { ask: "injection", given: &["text"], may: &[], wanted: &["rule"] },
];

pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    listed(&value).iter().filter_map(row).collect()
}

fn row(vector: &Value) -> Option<Case> {
    if vector.get("validator").is_some() {
        return None;
    }
    if vector.get("of").is_some() {
        return document(vector);
    }
    let found = TABLES.iter().find_map(|table| table.case(CONTRACT, vector));
    found.or_else(|| secret(vector)).or_else(|| fencing(vector)).or_else(|| verdict(vector))
}

/// `{of, set?, remove?, options?, expect}`: the document of another file, with something changed in it.
fn document(vector: &Value) -> Option<Case> {
    let of = vector["of"].as_str()?.to_owned();
    vector["expect"]["allow"].as_bool()?;
    Some(Case {
        contract: CONTRACT,
        name: vector["name"].as_str()?.to_owned(),
        needs: vec![of],
        may_lack_files: false,
        vector: vector.clone(),
        ask: |vector, files| {
            let other = parsed(only(files)?).ok_or_else(|| Mismatch("`of` is not JSON".to_owned()))?;
            verdicts::question(&changed::make(other, vector)?)
        },
        compare: |vector, answer| verdicts::compare(&vector["expect"], answer),
    })
}

fn case(name: String, vector: Value, compare: fn(&Value, &Value) -> Result<(), Mismatch>) -> Case {
    let ask = |vector: &Value, _: &[Vec<u8>]| Ok(vector["question"].clone());
    Case { contract: CONTRACT, name, needs: Vec::new(), may_lack_files: false, vector, ask, compare }
}

/// `{parts, pattern}`: the rule that finds the secret in the joined parts; null where there is none.
fn secret(vector: &Value) -> Option<Case> {
    let text: String = vector["parts"].as_array()?.iter().filter_map(Value::as_str).collect();
    let pattern = vector.get("pattern")?;
    let question = json!({"ask": "secret", "text": text});
    let vector = json!({"name": vector["name"], "question": question, "expect": {"pattern": pattern}});
    let name = format!("secret: {}", vector["name"].as_str().unwrap_or_default());
    Some(case(name, vector, |vector, answer| {
        // What was scrubbed must be clean; the text itself is not repeated in a failure.
        holds(&vector["expect"], &json!({"pattern": answer["pattern"]}))?;
        holds(&json!({"clean": true}), &json!({"clean": answer["clean"]}))
    }))
}

/// `{steps[[verb, …, answer]]}`: grants, heartbeats, results and sweeps, one after the other.
fn fencing(vector: &Value) -> Option<Case> {
    let steps: Vec<&[Value]> = vector["steps"]
        .as_array()?
        .iter()
        .map(|step| step.as_array().map(Vec::as_slice))
        .collect::<Option<_>>()?;
    let split: Vec<(&Value, &[Value])> = steps.iter().map(|step| step.split_last()).collect::<Option<_>>()?;
    let asked: Vec<&[Value]> = split.iter().map(|(_, step)| *step).collect();
    let answers: Vec<&Value> = split.iter().map(|(answer, _)| *answer).collect();
    let question = json!({"ask": "fencing", "steps": asked, "options": vector["options"]});
    let name = format!("fencing: {}", vector["name"].as_str()?);
    let vector = json!({"question": question, "expect": {"answers": answers}});
    Some(case(name, vector, |vector, answer| holds(&vector["expect"], answer)))
}

/// `{input, expect{allow, code}, issues?}`: a ledger to reconcile, or tasks to watch.
fn verdict(vector: &Value) -> Option<Case> {
    let input = vector["input"].as_object()?;
    vector["expect"]["allow"].as_bool()?;
    let kind = match vector.get("issues") {
        Some(_) => Kind::Reconcile,
        None if input.contains_key("tasks") || input.contains_key("now") => Kind::Watchdog,
        None => return None,
    };
    let mut question = verdicts::ask(kind, vector["input"].to_string().as_bytes());
    if let Some(options) = vector.get("options") {
        question["options"] = options.clone();
    }
    let name = format!("{kind}: {}", vector["name"].as_str()?);
    let vector = json!({"question": question, "expect": vector["expect"], "issues": vector["issues"]});
    Some(case(name, vector, judged))
}

fn judged(vector: &Value, answer: &Value) -> Result<(), Mismatch> {
    verdicts::compare(&vector["expect"], answer)?;
    let details = &answer["details"];
    if let Some(silent) = vector["expect"].get("timed_out") {
        let found: Vec<&Value> = items(&details["timed_out"]).map(|task| &task["task_id"]).collect();
        holds(&json!({ "timed_out": silent }), &json!({ "timed_out": found }))?;
    }
    if vector["issues"].is_array() {
        let issue = |issue: &Value| json!([issue["rule"], issue["code"], issue["task_id"]]).to_string();
        let found = sorted(items(&details["issues"]).map(issue));
        let wanted = sorted(items(&vector["issues"]).map(Value::to_string));
        holds(&json!({ "issues": wanted }), &json!({ "issues": found }))?;
    }
    Ok(())
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The order of issues does not matter.
fn sorted(issues: impl Iterator<Item = String>) -> Vec<String> {
    let mut issues: Vec<String> = issues.collect();
    issues.sort_unstable();
    issues.dedup();
    issues
}
