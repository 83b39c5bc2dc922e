//! Vectors that say what a validator must answer: `{validator, input | input_raw, options, expect}`.

use serde_json::{Map, Value, json};

use super::{Case, Mismatch, VectorFile, listed, parsed};
use crate::json::strict;
use crate::validate::Kind;

/// One case a file, or many under `cases`.
pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    if value.get("validator").is_some() {
        return case(&value).into_iter().collect();
    }
    listed(&value).iter().filter_map(case).collect()
}

fn case(vector: &Value) -> Option<Case> {
    let kind = Kind::named(vector["validator"].as_str()?)?;
    vector["expect"]["allow"].as_bool()?;
    // Its own contract handles cases that are made from another file.
    (vector.get("input").is_some() || vector.get("input_raw").is_some()).then(|| Case {
        contract: contract_of(kind),
        name: vector["name"].as_str().unwrap_or("without a name").to_owned(),
        needs: Vec::new(),
        may_lack_files: false,
        vector: vector.clone(),
        ask: |vector, _| question(vector),
        compare: |vector, answer| compare(&vector["expect"], answer),
    })
}

fn contract_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Assignment
        | Kind::Locks
        | Kind::Result
        | Kind::Worklog
        | Kind::WorklogEntry
        | Kind::Handoff
        | Kind::Orchestrator
        | Kind::Deltas
        | Kind::Reconcile
        | Kind::Watchdog => "operator",
        Kind::Aop | Kind::AopAudit => "aop",
        Kind::Aee => "aee",
        Kind::Stack | Kind::Trace => "aocl",
        Kind::Bridge
        | Kind::Candidate
        | Kind::Harvest
        | Kind::Learning
        | Kind::Pattern
        | Kind::Constraint
        | Kind::Stage1
        | Kind::Memrl
        | Kind::Council
        | Kind::Promise
        | Kind::Ratchet => "bridge",
        Kind::Continuity => "continuity",
        Kind::Plan => "plan",
    }
}

/// Asks for a verdict on a text.
pub(super) fn ask(kind: Kind, input: &[u8]) -> Value {
    let mut question = json!({"ask": "validate", "kind": kind.as_str()});
    match std::str::from_utf8(input) {
        Ok(text) => question["input"] = text.into(),
        Err(_) => {
            question["input_hex"] = input.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
        }
    }
    question
}

pub(super) fn question(vector: &Value) -> Result<Value, Mismatch> {
    let Some(kind) = vector["validator"].as_str().and_then(Kind::named) else {
        return Err(Mismatch(format!("unknown validator {}", vector["validator"])));
    };
    let input = match (&vector["input_raw"], &vector["options"]["prior"], &vector["input"]) {
        (Value::String(raw), _, _) => raw.clone(),
        (_, Value::String(prior), Value::Array(entries)) if kind == Kind::Worklog => {
            continued(prior, entries)
        }
        _ => text_of(kind, &vector["input"]),
    };
    let mut question = ask(kind, input.as_bytes());
    let mut options = Map::new();
    for (name, value) in vector["options"].as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "prior" | "assignment" if value.is_string() => value.clone(),
            "prior" => text_of(Kind::Worklog, value).into(),
            "assignment" => value.to_string().into(),
            _ => value.clone(),
        };
        options.insert(name.clone(), value);
    }
    if !options.is_empty() {
        question["options"] = Value::Object(options);
    }
    Ok(question)
}

/// One document per line.
pub(super) fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// A document as it is sent. A list of a worklog's entries means its lines.
fn text_of(kind: Kind, document: &Value) -> String {
    match (kind, document) {
        (Kind::Worklog, Value::Array(entries)) => entries.iter().map(|entry| format!("{entry}\n")).collect(),
        (Kind::Worklog, entry) => format!("{entry}\n"),
        (_, document) => document.to_string(),
    }
}

/// A worklog that is given as entries. Where it begins with the same entries as the prior state, it begins with
/// the same bytes: spaces and the order of keys do not matter.
fn continued(prior: &str, entries: &[Value]) -> String {
    let kept: Option<Vec<Value>> = prior
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| strict::parse(line.as_bytes()).ok())
        .collect();
    let rest = kept.filter(|_| prior.ends_with('\n')).and_then(|kept| entries.strip_prefix(kept.as_slice()));
    match rest {
        Some(rest) => format!("{prior}{}", lines(rest)),
        None => lines(entries),
    }
}

/// Compares a verdict with `{allow, code?, exit?, rule?, path?, warnings?}`; absent members do not matter.
pub(super) fn compare(expect: &Value, answer: &Value) -> Result<(), Mismatch> {
    let exit = match (answer["allow"].as_bool(), answer["code"].as_str()) {
        (Some(true), _) => 0,
        (_, Some(crate::validate::COULD_NOT_WORK)) => 2,
        _ => 1,
    };
    let details = &answer["details"];
    let rules = details["warnings"].as_array().into_iter().flatten().map(|warning| &warning["rule"]);
    let mut warnings: Vec<&str> = rules.filter_map(Value::as_str).collect();
    warnings.sort_unstable();
    let said = [
        ("allow", answer["allow"].clone()),
        ("code", answer["code"].clone()),
        ("exit", exit.into()),
        ("rule", details["rule"].clone()),
        ("path", details["path"].clone()),
        ("warnings", warnings.into()),
    ];
    let differs = |name: &str, said: &Value| expect.get(name).is_some_and(|expected| expected != said);
    match said.iter().find(|(name, said)| differs(name, said)) {
        None => Ok(()),
        Some((name, said)) => {
            let reason = answer["reason"].as_str().unwrap_or("no reason");
            Err(Mismatch(format!("expected {name} {}, got {said}: {reason}", expect[*name])))
        }
    }
}
