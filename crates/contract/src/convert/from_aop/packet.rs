//! A TASK as an assignment.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{run_id, take_header, task_id};
use crate::aop::task::Task;
use crate::aop::{self, effective};
use crate::convert::ConvertContext;
use crate::convert::source::ConvertSource;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits::TITLE_CHARS_MAX;
use crate::domain::scope::Scope;
use crate::operator::SCHEMA_VERSION;

const OBJECTIVE_CHARS_MAX: usize = 5000;
const TIMEOUT_SECONDS_MIN: u64 = 30;
const HEARTBEAT_SECONDS_MIN: u64 = 5;
const HEARTBEAT_SECONDS_DEFAULT: u64 = 120;

/// Writable paths become the lock scope; outputs and checkpoints become criteria, and their validations
/// the checks that decide them.
pub(in crate::convert) fn assignment(source: &mut ConvertSource<'_>, context: &ConvertContext) -> Value {
    take_header(source);
    let message = source.peek("").map(Value::to_string).unwrap_or_default();
    let (read, _) = aop::parse_task(message.as_bytes()).expect("BUG: it was found valid before");
    let run_id = run_id(source, "/session/session_id");
    let task_id = task_id(source, "/task/task_id");
    let worklog = source.text("/task/extensions/x_worklog_path").map(str::to_owned);
    let worklog = worklog.unwrap_or_else(|| format!("worklogs/{task_id}.jsonl"));
    let (title, objective) = texts(source);
    let (criteria, checks) = criteria(source, &title);
    let (timeout, heartbeat) = times(source);
    let mut task = json!({
        "task_id": task_id,
        "title": title,
        "type": source.text("/task/extensions/x_type").unwrap_or("parallelizable"),
        "dependencies": dependencies(source),
        "lock_scope": lock_scope(source, &read, context, &worklog),
        "forbidden_scope": source.texts("/task/extensions/x_forbidden_scope"),
        "acceptance_criteria": criteria,
        "worklog_path": worklog,
        "timeout_seconds": timeout,
        "heartbeat_interval_seconds": heartbeat,
        "priority": source.text("/task/priority").unwrap_or("NORMAL").to_lowercase(),
    });
    if !checks.is_empty() {
        task["x_checks"] = json!(checks);
    }
    for (name, value) in source.extensions("/task/extensions") {
        let known = ["x_global_objective", "x_type", "x_depends_on", "x_forbidden_scope", "x_worklog_path"];
        if !known.contains(&name.as_str()) {
            task[name] = value;
        }
    }
    json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "generated_at": created_at(source, &read),
        "packet_type": "assignment",
        "global_objective": objective,
        "task": task,
        "active_locks": [],
        "context_package": context_package(source),
        "required_output_schema": "subagent_result_v1",
    })
}

/// The title is the objective's first line; the objective also becomes the run's objective if there is no other.
fn texts(source: &mut ConvertSource<'_>) -> (String, String) {
    let objective = source.text("/task/objective").unwrap_or_default().trim();
    let first = objective.lines().next().unwrap_or_default().trim();
    let title = cut(source, "/task/objective", first, TITLE_CHARS_MAX);
    let whole = source.text("/task/extensions/x_global_objective");
    let objective = cut(source, "/task/objective", whole.unwrap_or(objective), OBJECTIVE_CHARS_MAX);
    (title, objective)
}

fn cut(source: &mut ConvertSource<'_>, pointer: &str, text: &str, most: usize) -> String {
    if text.chars().count() > most {
        source.lose(pointer, format!("only {most} characters are allowed; the rest was dropped"));
    }
    text.chars().take(most).collect()
}

fn criteria(source: &mut ConvertSource<'_>, title: &str) -> (Vec<String>, Vec<Value>) {
    let mut places: Vec<String> =
        (0..source.count("/task/expected_outputs")).map(|i| format!("/task/expected_outputs/{i}")).collect();
    for phase in 0..source.count("/phases") {
        let checkpoints = format!("/phases/{phase}/checkpoints");
        places.extend((0..source.count(&checkpoints)).map(|i| format!("{checkpoints}/{i}")));
    }
    let (mut criteria, mut checks) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for place in places {
        let described = source.text(&format!("{place}/description")).unwrap_or_default().trim().to_owned();
        let path = source.text(&format!("{place}/path")).map(str::to_owned);
        let criterion = match (described.as_str(), path) {
            ("", Some(path)) => format!("{path} exists"),
            ("", None) => continue,
            (_, Some(path)) if !described.contains(&path) => format!("{described} ({path})"),
            _ => described,
        };
        if let Some(check) = check(source, &place, &criterion) {
            checks.push(check);
        }
        if known.insert(criterion.clone()) {
            criteria.push(criterion);
        }
    }
    if criteria.is_empty() {
        criteria.push(format!("done: {title}"));
    }
    (criteria, checks)
}

fn check(source: &mut ConvertSource<'_>, place: &str, criterion: &str) -> Option<Value> {
    let command = source.text(&format!("{place}/validation/command"))?.to_owned();
    let expects = source.text(&format!("{place}/validation/expects"))?;
    let shell = source.peek("/task/environment/shell").is_some();
    let Some(words) = shlex::split(&command).filter(|words| !shell && !words.is_empty()) else {
        return Some(
            json!({"criterion": criterion, "command": [command], "expects": expects, "shell": true}),
        );
    };
    Some(json!({"criterion": criterion, "command": words, "expects": expects}))
}

fn times(source: &mut ConvertSource<'_>) -> (u64, u64) {
    let guarded = source.number("/guard_rails/timeout_seconds");
    let given = guarded.or_else(|| source.number("/execution_policy/timeout_seconds")).unwrap_or(1800);
    let timeout = given.max(TIMEOUT_SECONDS_MIN);
    if timeout != given {
        let message = format!("raised to the minimum of {TIMEOUT_SECONDS_MIN} seconds");
        source.lose("/execution_policy/timeout_seconds", message);
    }
    source.take("/execution_policy/heartbeat/enabled");
    let interval = source.number("/execution_policy/heartbeat/interval_seconds");
    let wanted = interval.unwrap_or(HEARTBEAT_SECONDS_DEFAULT);
    let heartbeat = wanted.min(timeout / 2).max(HEARTBEAT_SECONDS_MIN);
    if interval.is_some_and(|interval| interval != heartbeat) {
        source.lose("/execution_policy/heartbeat/interval_seconds", format!("became {heartbeat} seconds"));
    }
    (timeout, heartbeat)
}

fn dependencies(source: &mut ConvertSource<'_>) -> Vec<String> {
    let (known, others): (Vec<String>, Vec<String>) = source
        .texts("/task/extensions/x_depends_on")
        .into_iter()
        .partition(|name| TaskRef::parse(name).is_some());
    if !others.is_empty() {
        source.lose("/task/extensions/x_depends_on", "names tasks whose ids are not valid in an assignment");
    }
    known
}

/// In UTC, the only zone of operator documents.
fn created_at(source: &mut ConvertSource<'_>, task: &Task) -> String {
    source.take("/session/created_at");
    task.session.created_at.to_string()
}

/// The paths that the TASK may write, without those inside another one; only its worklog if it may write
/// nothing.
fn lock_scope(
    source: &mut ConvertSource<'_>,
    task: &Task,
    context: &ConvertContext,
    worklog: &str,
) -> Vec<String> {
    source.take("/task/access/filesystem/write_paths");
    let root = source.text("/task/environment/workspace_root").map(str::to_owned);
    let root = context.root.map(str::to_owned).or(root);
    let mut scopes: Vec<Scope> = Vec::new();
    for path in effective::access(task).write {
        match Scope::parse(&path, root.as_deref()) {
            Ok(scope) => scopes.push(scope),
            Err(fault) => {
                source.lose("/task/access/filesystem/write_paths", format!("`{path}` {fault}"));
            }
        }
    }
    if scopes.is_empty() {
        return vec![worklog.to_owned()];
    }
    Scope::outermost(scopes).iter().map(|scope| scope.as_str().to_owned()).collect()
}

fn context_package(source: &mut ConvertSource<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for index in 0..source.count("/task/inputs") {
        let at = |name: &str| format!("/task/inputs/{index}/{name}");
        source.take(&at("read_only"));
        let kind = match source.text(&at("type")).unwrap_or_default() {
            "COMMAND" => "command",
            "CONSTRAINT" => "constraint",
            _ => "note",
        };
        if let Some(path) = source.text(&at("path")).filter(|path| !path.trim().is_empty()) {
            items.push(json!({"kind": "file", "value": path}));
        }
        if let Some(content) = source.text(&at("content")).filter(|text| !text.trim().is_empty()) {
            items.push(json!({"kind": kind, "value": content}));
        }
    }
    items
}
