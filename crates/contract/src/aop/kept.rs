//! What stays in force of a TASK that does not match its schema and is sent as a v1 prompt.

use serde_json::{Value, json};

use super::settle;
use super::task::Task;
use crate::domain::limits;
use crate::domain::time::Timestamp;
use crate::finding::{Finding, Findings};
use crate::shape::{Shape, check};

/// Limits of what the executor may do and spend. One that cannot be read refuses the TASK: without it the executor
/// would get more than its author allows.
const LIMITS: [&str; 11] = [
    "$.task.access",
    "$.task.budgets",
    "$.task.constraints",
    "$.task.environment.workspace_root",
    "$.guard_rails",
    "$.target.capabilities",
    "$.execution_policy.timeout_seconds",
    "$.execution_policy.heartbeat",
    "$.execution_policy.abort_on_first_critical_error",
    "$.execution_policy.auto_terminate_on_timeout",
    // How deep it is delegated.
    "$.task.parent_task_id",
];

/// Names of limits. A field with such a name in a wrong place was meant to limit something.
const LIMIT_NAMES: [&str; 27] = [
    "access",
    "abort_on_first_critical_error",
    "auto_terminate_on_timeout",
    "budget",
    "budgets",
    "capabilities",
    "constraints",
    "delegation_allowed",
    "file_system_access",
    "filesystem",
    "guard_rails",
    "heartbeat",
    "max_cost",
    "max_cost_usd",
    "max_missed_beats",
    "max_tokens",
    "network",
    "network_access",
    "parent_task_id",
    "read_only",
    "read_only_mode",
    "read_paths",
    "require_final_signal",
    "require_minimal_report",
    "timeout",
    "timeout_seconds",
    "write_paths",
];

/// Where checks are. One that cannot be read refuses the TASK: without it, work that nobody checked would be verified.
const CHECKED: [&str; 2] = ["$.task.expected_outputs", "$.phases"];

/// Objects that may hold a limit. They refuse the TASK only where they are no objects at all.
const HOLDERS: [&str; 5] =
    ["$.task", "$.task.environment", "$.task.extensions", "$.target", "$.execution_policy"];

/// The model of a target that names none.
pub const MODEL_UNKNOWN: &str = "unknown";

/// What stands for a required field that a TASK lacks.
#[derive(Debug, Clone)]
pub struct TaskDefaults {
    pub session_id: String,
    pub task_id: String,
    pub agent_name: String,
    pub now: Timestamp,
}

/// The TASK with every part that can be read, and with defaults for what it lacks. Refused where a limit cannot be
/// read, or where nothing is asked for.
pub fn kept(value: &Value, faults: &[Finding], defaults: &TaskDefaults) -> Result<Task, Findings> {
    let mut refused: Findings = faults.iter().filter(|fault| is_about_limit(fault)).cloned().collect();
    if value["task"]["objective"].as_str().is_none_or(|text| text.trim().is_empty()) {
        refused.push("$.task.objective", "missing", "there is no objective, so nothing could be asked for");
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut value = value.clone();
    // Each round mends one fault; what it leaves is looked at again.
    for _ in 0..limits::FINDINGS_MAX {
        settle::settle(Task::OBJECT, &mut value);
        let found = check::check(&Shape::Object(Task::OBJECT), &value, false);
        let Some(fault) = found.iter().min() else {
            return serde_json::from_value(value).map_err(|error| {
                let whole = Finding { path: "$".to_owned(), rule: "type", message: error.to_string() };
                [whole].into_iter().collect()
            });
        };
        mend(&mut value, fault, defaults);
    }
    Err(faults.iter().cloned().collect())
}

fn is_about_limit(fault: &Finding) -> bool {
    let is_absent = fault.rule == "missing";
    let is_below = |limit: &&str| {
        fault.path.strip_prefix(*limit).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    // A limit that is absent limits nothing.
    let is_limit = LIMITS.iter().any(is_below) && !(is_absent && fault.path == LIMITS[3]);
    is_limit
        || (!is_absent && HOLDERS.contains(&fault.path.as_str()))
        || is_misplaced_limit(fault)
        || is_check(fault)
}

/// Whether an unknown field has the name of a limit.
fn is_misplaced_limit(fault: &Finding) -> bool {
    let name = fault.path.rsplit('.').next().unwrap_or_default();
    fault.rule == "unknown_field" && LIMIT_NAMES.iter().any(|limit| limit.eq_ignore_ascii_case(name))
}

/// Whether a check, or what holds checks, is lost with what is wrong.
fn is_check(fault: &Finding) -> bool {
    let is_inside = CHECKED.iter().any(|holder| fault.path.starts_with(holder));
    let name = fault.path.rsplit('.').next().unwrap_or_default();
    match fault.rule {
        "missing" => is_inside && fault.path.ends_with(".validation.command"),
        "unknown_field" => false,
        _ => {
            let holds =
                ["expected_outputs", "phases", "checkpoints", "expected_artifacts", "validation", "command"];
            is_inside && (name.ends_with(']') || holds.contains(&name))
        }
    }
}

/// Sets what is missing to its default, and removes what is wrong.
fn mend(value: &mut Value, fault: &Finding, defaults: &TaskDefaults) {
    let steps = steps(&fault.path);
    let Some((last, parents)) = steps.split_last() else { return };
    if fault.rule != "missing" {
        return remove(value, parents, last);
    }
    match default(&fault.path, last, defaults) {
        Some(default) => {
            if let Some(Value::Object(fields)) = at(value, parents) {
                fields.insert(last.clone(), default);
            }
        }
        // What lacks something essential is left out as a whole.
        None => {
            if let Some((last, parents)) = parents.split_last() {
                remove(value, parents, last);
            }
        }
    }
}

fn default(path: &str, field: &str, defaults: &TaskDefaults) -> Option<Value> {
    Some(match path {
        "$.schema_version" => json!(super::header::SCHEMA_VERSION),
        "$.protocol_family" => json!("AOP"),
        "$.message_type" => json!("TASK"),
        "$.session" | "$.target" | "$.task.environment" => json!({}),
        "$.session.session_id" => json!(defaults.session_id),
        "$.session.created_at" => json!(defaults.now),
        "$.session.orchestrator" => json!("unknown"),
        "$.session.origin" => json!("V1_COMPAT"),
        "$.target.agent_name" => json!(defaults.agent_name),
        "$.target.role" => json!("EXECUTOR"),
        "$.target.provider" => json!("OTHER"),
        "$.target.model" => json!(MODEL_UNKNOWN),
        "$.task.task_id" => json!(defaults.task_id),
        "$.task.category" => json!("OTHER"),
        "$.task.complexity" => json!("MEDIUM"),
        "$.task.environment.workspace_root" => json!("."),
        // Of outputs, phases and checkpoints: they are kept for their checks.
        _ => match field {
            "type" => json!("FILE"),
            "description" | "label" | "objective" => json!(""),
            "phase_id" | "checkpoint_id" => json!("unnamed"),
            "phase_order" => json!(0),
            "expects" => json!("EXIT_CODE_0"),
            _ => return None,
        },
    })
}

/// The names and indexes of a JSON path, such as `$.task.inputs[2].type`.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    for part in path.trim_start_matches('$').split('.').skip(1) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|name| !name.is_empty()).map(str::to_owned));
        steps.extend(pieces.map(|index| index.trim_end_matches(']').to_owned()));
    }
    steps
}

fn at<'v>(value: &'v mut Value, steps: &[String]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match value {
        Value::Object(fields) => fields.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn remove(value: &mut Value, parents: &[String], last: &str) {
    match at(value, parents) {
        Some(Value::Object(fields)) => drop(fields.remove(last)),
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
