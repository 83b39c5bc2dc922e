//! Checks the readable parts of a plan with faults, so that all faults are reported at once.

use serde_json::{Map, Value, json};

use super::{KnownExecutor, order};
use crate::finding::{Finding, Findings};
use crate::plan::shapes::RawPlan;

/// Adds the semantic faults of a plan, as far as its form is readable.
pub(super) fn add_faults(value: &Value, known: &[KnownExecutor], findings: &mut Findings) {
    let Some(sound) = sound_part(value, findings) else { return };
    let Ok(raw) = serde_json::from_value::<RawPlan>(sound.value) else { return };
    let mut more = Findings::default();
    let plan = raw.finish(known, &mut more);
    order::check(&plan, &mut more);
    let is_sure = |finding: &Finding| match finding.rule {
        "unknown_dependency" => sound.is_named,
        "overlapping_writes" => sound.is_named && sound.is_ordered,
        // What the network was meant to be is not known.
        "not_restricted" if findings.iter().any(|known| known.path.ends_with(".network")) => false,
        _ => findings.iter().all(|known| known.path != finding.path),
    };
    let sure: Vec<Finding> = more.sorted().into_iter().filter(is_sure).collect();
    for finding in sure {
        findings.push(finding.path, finding.rule, finding.message);
    }
}

struct Sound {
    value: Value,
    /// The ids of all tasks are readable.
    is_named: bool,
    /// The dependencies of all tasks are readable.
    is_ordered: bool,
}

/// The plan without its faulty fields, with a placeholder for each required one.
fn sound_part(value: &Value, findings: &Findings) -> Option<Sound> {
    let mut value = value.clone();
    let plan = value.as_object_mut()?;
    let count = plan.get("task")?.as_array()?.len();
    let (mut is_named, mut is_ordered) = (true, true);
    // If findings were omitted, it is unknown which fields are valid.
    if findings.omitted > 0 {
        return None;
    }
    for finding in findings.iter().filter(|finding| finding.rule != "secret") {
        match place(&finding.path) {
            FieldLocation::Task(index, field) if index < count => {
                let Value::Object(task) = &mut plan["task"][index] else { continue };
                is_ordered &= field != "depends_on";
                remove(task, field);
            }
            FieldLocation::Task(..) => return None,
            FieldLocation::Field("task") => return None,
            FieldLocation::Field(name) => drop(plan.remove(name)),
        }
    }
    plan.entry("objective").or_insert_with(|| json!(""));
    for (index, task) in plan["task"].as_array_mut()?.iter_mut().enumerate() {
        if !task.is_object() {
            *task = json!({});
        }
        is_named &= task["id"].is_string();
        if !task["id"].is_string() {
            task["id"] = json!(format!("$.task[{index}]"));
        }
    }
    Some(Sound { value, is_named, is_ordered })
}

/// Removes a faulty field, and fields that cannot be checked without it. An id with an invalid form is kept.
fn remove(task: &mut Map<String, Value>, field: &str) {
    if field == "id" && task.get("id").is_some_and(Value::is_string) {
        return;
    }
    task.remove(field);
    match field {
        "executor" => ["prompt", "model"].into_iter().for_each(|name| drop(task.remove(name))),
        // Whether there is one is known; what it says is not.
        "shell" | "command" if task.contains_key("command") || field == "command" => {
            task.insert("command".to_owned(), json!(["true"]));
        }
        _ => {}
    }
}

enum FieldLocation<'p> {
    Task(usize, &'p str),
    Field(&'p str),
}

/// The field of the plan or of one of its tasks that a path belongs to.
fn place(path: &str) -> FieldLocation<'_> {
    let field = |rest: &'_ str| rest.find(['.', '[']).unwrap_or(rest.len());
    let inside = path.strip_prefix("$.task[").and_then(|rest| rest.split_once(']'));
    match inside.and_then(|(index, rest)| Some((index.parse().ok()?, rest))) {
        Some((index, rest)) => {
            let rest = rest.strip_prefix('.').unwrap_or_default();
            FieldLocation::Task(index, &rest[..field(rest)])
        }
        None => {
            let rest = path.strip_prefix("$.").unwrap_or_default();
            FieldLocation::Field(&rest[..field(rest)])
        }
    }
}
