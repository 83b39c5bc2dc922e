//! The fields of AOP messages, as the published schema names them: which are required, and what each is good for.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Cli;

use crate::aop_tasks::{answered, response};
use crate::documents::{agent, aop, with, writ};
use crate::read_back::{Worked, work};
use table::{EXTENSIONS, NO_EFFECT, RESPONSE, TASK};

/// What each object of the contract requires. The names of the objects are those of the schema. Sections 1.1 and 1.2 name the
/// headers and the parts of a TASK and of a RESPONSE; the other fields are in every example of their object, and v2.0.0
/// required them.
const REQUIRED: [(&str, &str); 26] = [
    ("agent", "name provider model"),
    ("alternative_model", "provider model fallback_trigger"),
    ("checkpoint", "checkpoint_id description"),
    ("checkpoint_result", "checkpoint_id status"),
    ("environment", "workspace_root"),
    ("error_details", "error_code message"),
    ("expected_artifact", "type"),
    ("expected_output", "type description"),
    ("heartbeat_event", "aop_version message_type event session_id task_id timestamp agent"),
    ("input", "type"),
    ("output_artifact", "type path status"),
    ("phase", "phase_id phase_order label objective"),
    (
        "priority_escalation_event",
        "aop_version message_type event session_id task_id timestamp old_priority new_priority reason escalated_by",
    ),
    ("progress", "percentage message"),
    ("progress_update_event", "aop_version message_type event session_id task_id timestamp agent progress"),
    (
        "response_message",
        "aop_version schema_version protocol_family message_type session_id task_id agent task_status",
    ),
    (
        "rollback_initiated_event",
        "aop_version message_type event session_id task_id timestamp trigger artifacts_rolled_back",
    ),
    ("rolled_back_artifact", "path restored_from status"),
    ("session", "session_id created_at orchestrator origin"),
    ("session_final_report_event", "aop_version message_type event session_id timestamp"),
    ("target", "agent_name role provider model"),
    ("task", "task_id objective category complexity environment"),
    ("task_message", "aop_version schema_version protocol_family message_type session target task"),
    ("task_status", "state"),
    ("timing", "started_at completed_at duration_seconds"),
    ("validation", "command expects"),
];

/// Objects that only writ writes; the contract says nothing about their fields.
const OWN: [&str; 8] = [
    "audit_trail",
    "delegation_edge",
    "delegation_node",
    "role_assignment",
    "session_status",
    "task_outcome",
    "totals",
    "version_fallback_event",
];

fn schema() -> Value {
    writ().run(["schema", "show", "aop"]).success().json()
}

#[test]
fn the_schema_requires_what_the_contract_requires_and_labels_anything_else() {
    let schema = schema();
    let defs = schema["$defs"].as_object().unwrap();
    let words = |value: &Value| -> BTreeSet<String> {
        value.as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let required: BTreeMap<&str, BTreeSet<String>> = defs
        .iter()
        .map(|(name, object)| (name.as_str(), words(&object["required"])))
        .filter(|(name, fields)| !fields.is_empty() && !OWN.contains(name))
        .collect();
    let expected: BTreeMap<&str, BTreeSet<String>> = REQUIRED
        .iter()
        .map(|(name, fields)| (*name, fields.split(' ').map(str::to_owned).collect()))
        .collect();
    assert!(OWN.iter().all(|name| defs.contains_key(*name)));
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/execution.md")).unwrap();
    let none = BTreeSet::new();
    for (name, fields) in &required {
        let known = expected.get(name).unwrap_or(&none);
        for field in fields.difference(known) {
            let label = format!("`{name}.{field}` (REQUIRED");
            assert!(guide.contains(&label), "docs/execution.md does not label the new field as {label}");
        }
    }
    for (name, fields) in &expected {
        let missing: Vec<&String> = fields.difference(required.get(name).unwrap_or(&none)).collect();
        assert!(missing.is_empty(), "the schema does not require {missing:?} of {name}");
    }
}

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The paths of all values in an object of the schema, such as `$.task.inputs[].type`.
fn paths(schema: &Value, object: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    descend(&schema["$defs"], &schema["$defs"][object], "$", &mut found);
    found
}

fn descend(defs: &Value, node: &Value, at: &str, found: &mut BTreeSet<String>) {
    if let Some(name) = node["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return descend(defs, &defs[name], at, found);
    }
    if let Some(choices) = node["anyOf"].as_array() {
        choices
            .iter()
            .filter(|choice| choice["type"] != "null")
            .for_each(|choice| descend(defs, choice, at, found));
    } else if node["type"] == "array" {
        descend(defs, &node["items"], &format!("{at}[]"), found);
    } else if let Some(fields) = node["properties"].as_object() {
        fields.iter().for_each(|(name, field)| descend(defs, field, &format!("{at}.{name}"), found));
    } else {
        found.insert(at.to_owned());
    }
}

/// Whether there is a test with this name, such as `aop_tasks::every_version_that_starts_with_2_runs`.
fn exists(test: &str) -> bool {
    let (module, function) = test.split_once("::").unwrap();
    let file = match module.strip_prefix("contract/") {
        Some(inner) => format!("crates/contract/src/{inner}/tests.rs"),
        None => format!("crates/cli/tests/it/{module}.rs"),
    };
    let text = std::fs::read_to_string(repository().join(file)).unwrap_or_default();
    text.contains(&format!("#[test]\nfn {function}("))
}

#[test]
fn every_field_of_a_task_and_of_a_response_has_a_test_or_is_named_as_without_effect() {
    let schema = schema();
    for (object, table) in [("task_message", TASK), ("response_message", RESPONSE)] {
        let known: BTreeSet<String> = table.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known.len(), table.len(), "a path is listed twice");
        let (extensions, fields): (BTreeSet<String>, BTreeSet<String>) =
            paths(&schema, object).into_iter().partition(|path| path.ends_with(".extensions"));
        assert!(!extensions.is_empty());
        assert_eq!(fields, known, "{object}");
        let named = table.iter().flat_map(|(_, tests)| tests.split_whitespace());
        for test in named.chain(EXTENSIONS.split_whitespace()) {
            assert!(exists(test), "there is no test {test}");
        }
    }
}

/// A TASK with everything that is only passed on.
fn wordy(cli: &Cli) -> Value {
    let mut task = aop(cli, "write out.txt x; aop-success");
    task["schema_version"] = json!("2.0.9");
    task["orchestration_metadata"] =
        json!({"initiator": "ann", "spec_author": "bob", "tags": ["A"], "notes": "by hand"});
    task["task"]["expected_outputs"] = json!([
        {"type": "FILE", "path": "out.txt", "description": "the file"}, {"type": "NOTE", "description": "a note"},
    ]);
    let artifact = json!({"type": "FILE", "path": "out.txt", "description": "the same file"});
    let point =
        json!({"checkpoint_id": "C-1", "description": "it is there", "expected_artifacts": [artifact]});
    task["phases"] = json!([{
        "phase_id": "P-1", "phase_order": 1, "label": "Writing", "objective": "Write.", "checkpoints": [point],
    }]);
    task
}

#[test]
fn fields_without_effect_are_named() {
    let cli = writ();
    let worked = work(&cli, &wordy(&cli)).succeeded();
    let list = worked.result["without_effect"].as_array().unwrap();
    let named: Vec<&str> =
        list.iter().map(|told| told.as_str().unwrap().split(": ").next().unwrap()).collect();
    let covers =
        |path: &str| named.iter().any(|named| path == *named || path.starts_with(&format!("{named}.")));
    for (path, _) in TASK.iter().filter(|(_, tests)| *tests == NO_EFFECT) {
        assert!(covers(path), "{path} is not in {named:?}");
    }
    assert!(named.contains(&"$.task.expected_outputs[1]"), "a NOTE cannot be checked: {named:?}");
    let traced = worked.decisions("L0");
    for told in list {
        let told = format!("NO_EFFECT: {}", told.as_str().unwrap());
        assert!(traced.contains(&told), "{told} is not in {traced:?}");
    }
    // What is not there is not named.
    let plain = work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert_eq!(plain.result["without_effect"].as_array().unwrap().len(), 3);
}

#[test]
fn the_header_of_a_message_decides_whether_it_is_read() {
    let cli = writ();
    for (field, value, path) in
        [("aop_version", "3.0", "$.aop_version"), ("message_type", "EVENT", "$.message_type")]
    {
        let document = with(aop(&cli, "aop-success"), json!({field: value}));
        let refused =
            cli.call(["run", "-", "--output", "json"]).stdin(document.to_string()).run().fails_with(1).json();
        assert_eq!(refused["error_context"]["findings"][0]["path"], path);
    }
    let family = with(aop(&cli, "print SUCCESS"), json!({"protocol_family": "XYZ"}));
    let worked = work(&cli, &family);
    assert_eq!(worked.result["warnings"][1]["path"], "$.protocol_family", "{}", worked.output);
    let said = |fields: Value| {
        let worked = work(&cli, &answered(&cli, &[response(fields)]));
        let warnings = worked.task("T-1")["warnings"].as_array().cloned().unwrap_or_default();
        format!("{} {} {}", worked.status("T-1"), worked.reason("T-1"), json!(warnings))
    };
    for (field, value) in [("aop_version", "3.0"), ("protocol_family", "XYZ"), ("message_type", "ANSWER")] {
        let failed = said(json!({field: value}));
        assert!(failed.starts_with("failed E_"), "{field}: {failed}");
    }
    assert_eq!(said(json!({})), "done claimed  []");
    let told = "WITHOUT_EFFECT: the schema_version of the RESPONSE is read as 2.0.2";
    assert_eq!(said(json!({"schema_version": "2.0.9"})), format!("done claimed  {}", json!([told])));
}

/// A RESPONSE with all fields, each with a value of its own.
fn full_response() -> Value {
    let artifact = json!({
        "type": "ARCHIVE", "path": "made.tar", "hash": "sha256:0123", "status": "CREATED", "size_bytes": 4321,
    });
    let point = json!({
        "checkpoint_id": "C-77", "status": "PASS", "validation_output": "it printed this",
        "evidence": ["first evidence"], "notes": "a note of it",
    });
    response(json!({
        "agent": {"name": "Emma the Second", "provider": "GEMINI", "model": "model-of-the-agent"},
        "task_status": {"state": "FAILED", "final_signal": "FAILURE", "message": "a status message"},
        "execution_summary": {
            "summary": "a summary of it", "actions": ["an action of it"], "warnings": ["a warning of it"],
            "errors": ["an error of it"], "output_artifacts": [artifact],
        },
        "checkpoint_results": [point],
        "error_details": {
            "error_code": "E_FILE_NOT_FOUND", "message": "an error message", "stack_trace": "at line 5",
            "recovery_suggestions": ["look again"],
        },
        "timing": {
            "started_at": "2020-01-02T12:00:00Z", "completed_at": "2020-01-03T12:00:00Z",
            "duration_seconds": 86409, "retries_attempted": 13,
        },
        "cost_tracking": {
            "estimated_cost_usd": 0.017, "actual_cost_usd": 0.019, "tokens_input": 1717, "tokens_output": 1919,
            "model_pricing_tier": "a tier",
        },
        "progress_log": {"last_progress_event_at": "2020-01-02T13:00:00Z", "progress_percentage": 61},
    }))
}

/// The values in a document by their paths.
fn values(value: &Value, at: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, one)| values(one, &format!("{at}.{name}"), found));
        }
        Value::Array(items) => items.iter().for_each(|one| values(one, &format!("{at}[]"), found)),
        Value::String(text) => drop(found.insert(at.to_owned(), text.clone())),
        other => drop(found.insert(at.to_owned(), other.to_string())),
    }
}

#[test]
fn every_field_of_a_response_is_kept() {
    let cli = writ();
    let response = full_response();
    let worked = work(&cli, &answered(&cli, std::slice::from_ref(&response))).failed();
    let kept = worked.shown("T-1")["attempts"][0]["outcome"]["report"].to_string();
    let mut said = BTreeMap::new();
    values(&response, "$", &mut said);
    let fields: BTreeSet<&str> = RESPONSE.iter().map(|(path, _)| *path).collect();
    assert_eq!(said.keys().map(String::as_str).collect::<BTreeSet<_>>(), fields, "it has every field");
    let decides = [
        "$.aop_version",
        "$.schema_version",
        "$.protocol_family",
        "$.message_type",
        "$.session_id",
        "$.task_id",
    ];
    for (path, value) in said.iter().filter(|(path, _)| !decides.contains(&path.as_str())) {
        let shown = match path.as_str() {
            // Money is in millionths of a dollar, and times have milliseconds.
            "$.cost_tracking.estimated_cost_usd" => "17000".to_owned(),
            "$.cost_tracking.actual_cost_usd" => "19000".to_owned(),
            _ => value.strip_suffix(":00Z").unwrap_or(value).to_owned(),
        };
        assert!(kept.contains(&shown), "{path}: `{shown}` is not in {kept}");
    }
}

#[test]
fn content_reaches_the_executor() {
    let cli = writ();
    let got = |content: &str| {
        let mut task = aop(&cli, "");
        task["task"]["inputs"] = json!([{"type": "TEXT", "content": content}]);
        task["task"]["extensions"]["x_command"] =
            json!(["sh", "-c", "tee task.json | \"$0\" aop-success", agent()]);
        work(&cli, &task).succeeded();
        let task: Value = serde_json::from_str(&cli.scratch().read("project/task.json")).unwrap();
        task["task"]["inputs"][0]["content"].clone()
    };
    assert_eq!((got("one"), got("two")), (json!("one"), json!("two")));
}

#[test]
fn each_budget_is_a_limit() {
    let cli = writ();
    for (object, field, enough, little) in [
        ("budgets", "max_cost_usd", json!(0.1), json!(0.09)),
        ("budgets", "max_tokens", json!(110), json!(109)),
        ("constraints", "max_cost_usd", json!(0.1), json!(0.09)),
        ("constraints", "max_tokens", json!(110), json!(109)),
    ] {
        let code = |max: &Value| {
            let mut task = aop(&cli, "aop-cost 0.1; aop-success");
            task["task"][object] = json!({field: max});
            work(&cli, &task).task("T-1")["code"].clone()
        };
        assert_eq!(
            (code(&enough), code(&little)),
            (Value::Null, json!("E_COST_LIMIT_EXCEEDED")),
            "{object}.{field}"
        );
    }
}

#[test]
fn what_a_checkpoint_expects_is_validated_and_kept_as_an_output_is() {
    let task = |cli: &Cli, artifact: Value| {
        let mut task = aop(cli, "write src/out.txt x; aop-success");
        let point = json!({"checkpoint_id": "C-1", "description": "d", "expected_artifacts": [artifact]});
        task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["src"]}});
        let phase = json!({"phase_id": "P-7", "phase_order": 1, "label": "l", "objective": "o", "checkpoints": [point]});
        with(task, json!({"phases": [phase]}))
    };
    let told = |worked: &Worked<'_>| {
        let point = &worked.task("T-1")["checkpoints"][0];
        format!("{} {}", point["phase_id"].as_str().unwrap(), point["status"].as_str().unwrap())
    };
    let artifact = |more: Value| with(json!({"type": "FILE", "path": "src/out.txt"}), more);
    for (fields, status) in [
        (json!({}), "P-7 PASS"),
        (json!({"path": "src/other.txt"}), "P-7 FAIL"),
        (json!({"type": "NOTE"}), "P-7 PENDING"),
        (json!({"validation": {"command": "grep x src/out.txt", "expects": "MATCH_FOUND"}}), "P-7 PASS"),
        (json!({"validation": {"command": "grep y src/out.txt", "expects": "MATCH_FOUND"}}), "P-7 FAIL"),
        (json!({"validation": {"command": "grep y src/out.txt", "expects": "NO_MATCH"}}), "P-7 PASS"),
    ] {
        let cli = writ();
        cli.scratch().write("project/src/out.txt", "before\n");
        assert_eq!(told(&work(&cli, &task(&cli, artifact(fields.clone())))), status, "{fields}");
    }
    let wish = |enabled: bool, strategy: &str| {
        let snapshot =
            json!({"enabled": enabled, "snapshot_strategy": strategy, "snapshot_path": "kept/out.before"});
        let validation = json!({"command": "false", "expects": "EXIT_CODE_0"});
        artifact(json!({"rollback_snapshot": snapshot, "validation": validation}))
    };
    for (enabled, strategy, is_rolled_back) in
        [(true, "COPY", true), (false, "COPY", false), (true, "NONE", false)]
    {
        let cli = writ();
        cli.scratch().write("project/src/out.txt", "before\n");
        work(&cli, &task(&cli, wish(enabled, strategy))).failed();
        let (expected, case) = (is_rolled_back, format!("{enabled} {strategy}"));
        assert_eq!(cli.scratch().read("project/src/out.txt") == "before\n", expected, "{case}");
        assert_eq!(cli.scratch().has("project/kept/out.before"), expected, "{case}");
    }
}
