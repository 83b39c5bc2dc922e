//! The vectors of the operator contracts: whole documents, one to a file, and tables of cases for the rules below
//! them.

mod given;
mod tables;

use serde_json::Value;

use super::{Case, File, Judge, Mismatch};
use crate::json::strict;
use crate::operator::{self, Options};
use crate::verdict::Verdict;
use given::Given;

const CONTRACT: &str = "operator";

/// A file is one case that names its validator, or a table whose cases tell by their members what they are.
pub fn cases(file: &File<'_>) -> Vec<Case> {
    let Ok(value) = strict::parse(file.bytes) else { return Vec::new() };
    if value["validator"].as_str().and_then(validator).is_some() && value["expect"].is_object() {
        let name = value["name"].as_str().unwrap_or(file.path).to_owned();
        return vec![case(name, &value, document)];
    }
    let listed = value["cases"].as_array().into_iter().flatten();
    listed
        .filter_map(|vector| tables::recognise(vector).map(|(name, judge)| case(name, vector, judge)))
        .collect()
}

fn case(name: String, vector: &Value, judge: Judge) -> Case {
    Case { contract: CONTRACT, name, needs: Vec::new(), vector: vector.clone(), judge }
}

type Validator = fn(&[u8], &Options) -> Verdict;

fn validator(name: &str) -> Option<Validator> {
    match name {
        "assignment" => Some(operator::validate_assignment),
        "locks" => Some(operator::validate_locks),
        "result" => Some(operator::validate_result),
        "worklog" => Some(operator::validate_worklog),
        "worklog_entry" => Some(operator::validate_worklog_entry),
        "handoff" => Some(operator::validate_handoff),
        "envelope" => Some(operator::validate_envelope),
        "deltas" => Some(operator::validate_deltas),
        "reconcile" => Some(operator::validate_reconcile),
        "watchdog" => Some(operator::validate_watchdog),
        _ => None,
    }
}

/// `{validator, input | input_raw, options?, expect{allow, code, exit?, rule?, path?, warnings?}}`.
pub fn document(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let name = vector["validator"].as_str().unwrap_or_default();
    let Some(validate) = validator(name) else { return Err(Mismatch(format!("no validator `{name}`"))) };
    let given = Given::read(&vector["options"])?;
    let bytes = match &vector["input_raw"] {
        Value::String(raw) => raw.clone().into_bytes(),
        _ if name == "worklog" => given.worklog(&vector["input"])?,
        _ => vector["input"].to_string().into_bytes(),
    };
    compare(&vector["expect"], &validate(&bytes, &given.options()))
}

/// Holds a verdict against what is expected of it; what is not mentioned does not matter.
fn compare(expect: &Value, verdict: &Verdict) -> Result<(), Mismatch> {
    let mut warnings: Vec<&str> = verdict.details.warnings.iter().map(|warning| warning.rule).collect();
    warnings.sort_unstable();
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let answers = [
        ("allow", Value::from(verdict.allow)),
        ("code", Value::from(verdict.code.as_str())),
        ("exit", Value::from(operator::exit_code(verdict))),
        ("rule", text(&verdict.details.rule)),
        ("path", text(&verdict.details.path)),
        ("warnings", Value::from(warnings)),
    ];
    for (name, answer) in answers {
        if expect.get(name).is_some_and(|expected| *expected != answer) {
            let (expected, reason) = (&expect[name], &verdict.reason);
            return Err(Mismatch(format!("expected {name} {expected}, got {answer} ({reason})")));
        }
    }
    Ok(())
}
