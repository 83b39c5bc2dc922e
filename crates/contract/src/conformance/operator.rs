//! The vectors of the operator contracts: whole documents, one to a file, and tables of cases for the rules below
//! them.

mod changed;
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
    match value["cases"].as_array() {
        Some(listed) => listed.iter().filter_map(|vector| recognise(vector, file.path)).collect(),
        None => recognise(&value, file.path).filter(|case| case.needs.is_empty()).into_iter().collect(),
    }
}

fn recognise(vector: &Value, path: &str) -> Option<Case> {
    let name = vector["name"].as_str().unwrap_or(path).to_owned();
    let case =
        |name, needs, judge: Judge| Case { contract: CONTRACT, name, needs, vector: vector.clone(), judge };
    if vector["expect"].is_object() && vector["validator"].as_str().and_then(validator).is_some() {
        return Some(case(name, Vec::new(), document));
    }
    if let (Some(of), true) = (vector["of"].as_str(), vector["expect"].is_object()) {
        return Some(case(name, vec![of.to_owned()], changed));
    }
    tables::recognise(vector).map(|(name, judge)| case(name, Vec::new(), judge))
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

/// `{of, set?, remove?, options?, expect}`: the document of another file, with something changed in it.
pub fn changed(vector: &Value, files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let other = files.first().map_or(&b""[..], Vec::as_slice);
    let other = strict::parse(other).map_err(|error| Mismatch(format!("`of` is not JSON: {error}")))?;
    document(&changed::make(other, vector)?, files)
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
