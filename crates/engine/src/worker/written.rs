//! The documents that a worker writes about an assignment: worklog entries and the result.

use std::collections::BTreeSet;

use contract::domain::crew::snapshot::{Snapshot, compare};
use contract::domain::scope::Scope;
use contract::json::{Value, json};
use contract::operator::{Outcome, SCHEMA_VERSION};
use contract::secrets;

use super::turn::WorkerTurn;

/// Files that a result lists one by one; with more, it lists the lock scope.
const CHANGES_MAX: usize = 1000;
/// Fields of a result that the command may set. The others are the assignment's.
const OPEN_FIELDS: &[&str] = &["status", "changes", "acceptance_check", "notes_for_orchestrator"];

/// Why a task did not finish, as its worklog and its result say it.
#[derive(Debug, Clone)]
pub(super) struct Unfinished {
    pub(super) outcome: Outcome,
    pub(super) code: String,
    pub(super) reason: String,
    pub(super) next_step: String,
}

pub(super) fn begun(command: &str) -> Value {
    json!({
        "action": "start", "files_touched": [], "decision": format!("run `{command}`"),
        "result": "the command was started", "next_step": "wait for the command to end",
    })
}

/// The entry without the command line, its output and what was said about it.
pub(super) fn without_texts(entry: &Value) -> Value {
    let mut plain = entry.clone();
    plain["decision"] = json!("run the command; its text is not repeated here");
    plain["result"] = json!("what the command said is not repeated here");
    if let Some(fields) = plain.as_object_mut() {
        fields.remove("evidence");
    }
    plain
}

/// The entry before a result that is done.
pub(super) fn finished(command: &str, touched: &[String], tail: &str) -> Value {
    json!({
        "action": "finish", "files_touched": touched, "decision": format!("run `{command}`"),
        "result": "the command exited with 0", "next_step": "submit the result; writ runs the checks",
        "evidence": scrubbed(tail),
    })
}

/// The last entry of a task that did not finish.
pub(super) fn stopped(command: &str, touched: &[String], why: &Unfinished, tail: &str) -> Value {
    json!({
        "action": "stop", "files_touched": touched, "decision": format!("run `{command}`"),
        "result": scrubbed(&why.reason), "next_step": why.next_step, "code": why.code, "evidence": scrubbed(tail),
    })
}

/// The result after exit code 0. The command's own files take precedence over the defaults.
pub(super) fn done(turn: &WorkerTurn, command: &str, changes: Vec<Value>, own: Option<&Value>) -> Value {
    let criteria = turn.packet["task"]["acceptance_criteria"].as_array().into_iter().flatten();
    let evidence = format!("`{command}` exited with 0");
    let checks: Vec<Value> = criteria
        .map(|criterion| json!({"criterion": criterion, "status": "pass", "evidence": evidence}))
        .collect();
    let mut result = result(turn, Outcome::Done, changes, &[]);
    result["acceptance_check"] = json!(checks);
    with_own(result, own)
}

pub(super) fn not_done(
    turn: &WorkerTurn,
    why: &Unfinished,
    changes: Vec<Value>,
    own: Option<&Value>,
) -> Value {
    let mut result = with_own(result(turn, why.outcome, changes, &[scrubbed(&why.reason)]), own);
    result["status"] = json!(why.outcome);
    result["x_code"] = json!(why.code);
    result
}

fn result(turn: &WorkerTurn, outcome: Outcome, changes: Vec<Value>, notes: &[String]) -> Value {
    json!({
        "schema_version": SCHEMA_VERSION, "run_id": turn.packet["run_id"], "task_id": turn.task_id,
        "status": outcome, "changes": changes, "acceptance_check": [],
        "worklog_path": turn.packet["task"]["worklog_path"], "notes_for_orchestrator": notes,
        "x_fencing_token": turn.token.number,
    })
}

/// Takes over what the command wrote. Fields of the assignment stay, so that a command cannot answer for another task.
fn with_own(mut result: Value, own: Option<&Value>) -> Value {
    for (name, value) in own.and_then(Value::as_object).into_iter().flatten() {
        let is_open = OPEN_FIELDS.contains(&name.as_str());
        let is_extension = name.starts_with("x_") && !matches!(name.as_str(), "x_fencing_token" | "x_token");
        if is_open || is_extension {
            result[name] = value.clone();
        }
    }
    result
}

/// Fields in the command's own result that a command may not set.
pub(super) fn refused_fields(own: &Value) -> Vec<&str> {
    let names = own.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| !OPEN_FIELDS.contains(name) && !name.starts_with("x_")).collect()
}

/// What changed in the lock scope since the task was assigned, as a result lists it.
pub(super) fn changes(turn: &WorkerTurn, before: Option<&Snapshot>, after: &Snapshot) -> Vec<Value> {
    let scopes = turn.scopes();
    let whole = || scopes.iter().map(|scope| json!({"resource": scope, "action": "edit"})).collect();
    let Some(before) = before.filter(|before| !before.is_partial && !after.is_partial) else {
        return whole();
    };
    let worklog = turn.packet["task"]["worklog_path"].as_str().unwrap_or_default();
    let in_scope = |file: &String| {
        file.as_str() != worklog
            && Scope::parse(file, None).is_ok_and(|file| scopes.iter().any(|scope| scope.contains(&file)))
    };
    let seen: Vec<String> =
        compare(before, after, &BTreeSet::new()).seen.into_iter().filter(in_scope).collect();
    if seen.len() > CHANGES_MAX {
        return whole();
    }
    let action = |file: &String| match (before.files.contains_key(file), after.files.contains_key(file)) {
        (false, _) => "create",
        (true, true) => "edit",
        (true, false) => "delete",
    };
    seen.iter().map(|file| json!({"resource": file, "action": action(file)})).collect()
}

/// The files that changes name.
pub(super) fn touched(changes: &[Value]) -> Vec<String> {
    changes.iter().filter_map(|change| change["resource"].as_str().map(str::to_owned)).collect()
}

/// A text without secrets: a result with one would be refused.
pub(super) fn scrubbed(text: &str) -> String {
    secrets::scrub(text).into_owned()
}
