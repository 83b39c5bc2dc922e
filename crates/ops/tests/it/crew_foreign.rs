//! Bundles of other programs: exactly the contract's fields.

use contract::domain::time::Timestamp;
use contract::operator::Tripwire;
use ops::Result;
use ops::handoff::import;
use serde_json::{Value, json};

use crate::crew_world::{Crew, RUN, denied};
use crate::handoff::exported;

const NOW: &str = "2026-02-14T20:00:00Z";

fn row(name: &str, status: &str, more: Value) -> Value {
    let mut row = json!({
        "task_id": name, "title": format!("Task {name}"), "status": status, "owner": "", "lock_scope": [name],
        "timeout_seconds": 1200, "heartbeat_interval_seconds": 120, "priority": "normal",
        "last_heartbeat_at": null,
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        row[field] = value.clone();
    }
    row
}

/// A run in the middle of its work, as the contract alone describes it.
fn bundle() -> Value {
    json!({
        "schema_version": "1.0.0", "run_id": RUN, "generated_at": NOW, "objective": "Ship endpoint tests",
        "constraints": {"quality_bar": "all tests pass"},
        "ledger": [
            row("T-2", "in_progress", json!({"owner": "agent-2", "last_heartbeat_at": "2026-02-14T19:59:00Z"})),
            row("T-1", "done", json!({"owner": "agent-1", "priority": "high"})),
            row("T-3", "blocked", json!({})),
            row("T-4", "todo", json!({"dependencies": ["T-1"]})),
            row("0000000000000000000000000000000000ff", "canceled", json!({})),
        ],
        "active_locks": [
            {"task_id": "T-2", "resource": "./T-2/", "active": true},
            {"task_id": "T-1", "resource": "T-1", "active": false},
        ],
        "dependencies": [{"task_id": "T-3", "depends_on_task_id": "T-2"}],
        "open_blockers": [{"task_id": "T-3", "code": "DEPENDENCY_NOT_MET", "reason": "Waiting for T-2"}],
        "acceptance_targets": [{"task_id": "T-2", "criteria": ["unit tests pass"]}],
    })
}

fn receiver() -> Crew {
    let crew = Crew::new();
    crew.world.clock().set_wall(Timestamp::parse_utc(NOW).unwrap());
    crew
}

fn take(crew: &mut Crew, document: &Value, strict: bool) -> Result<import::Answer> {
    let key = crew.key();
    let request = import::Request {
        document: document.clone(),
        digest: None,
        workspace: crew.workspace.clone(),
        allow_stale: false,
        tripwire: Tripwire::Deny,
        strict,
    };
    Ok(import::import(&mut crew.world.cx, &key, &request)?.answer)
}

#[test]
fn a_bundle_with_only_the_contracts_fields_is_imported_and_its_run_goes_on() {
    let mut crew = receiver();
    let answer = take(&mut crew, &bundle(), true).unwrap();
    assert!(answer.created);
    assert_eq!(answer.reconcile["allow"], true);
    let paths: Vec<&str> = answer.assumed.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "$.ledger[1].x_accepted",
            "$.acceptance_targets[T-3]",
            "$.acceptance_targets[T-4]",
            "$.x_assignments[T-2]"
        ]
    );
    assert_eq!(answer.ignored, ["$.active_locks[1]"]);
    crew.holds();
    // Exporting it again gives the contract's fields as they were, apart from what was assumed.
    let out = exported(&mut crew, false).unwrap().document;
    let given = bundle();
    assert_eq!(out["constraints"], given["constraints"]);
    assert_eq!(out["objective"], given["objective"]);
    assert_eq!(out["open_blockers"], given["open_blockers"]);
    for row in given["ledger"].as_array().unwrap() {
        let found =
            out["ledger"].as_array().unwrap().iter().find(|one| one["task_id"] == row["task_id"]).unwrap();
        for field in ["title", "status", "owner", "lock_scope", "timeout_seconds", "priority"] {
            assert_eq!(found[field], row[field], "{field} of {}", row["task_id"]);
        }
    }
    // The worker goes on with the token of the answer, and then the rest can be done.
    let token = answer.tasks.iter().find_map(|task| task["token"].as_str()).unwrap();
    let token: contract::domain::crew::token::LockToken = token.parse().unwrap();
    crew.heartbeat("T-2", token).unwrap();
    let mut result = crew.result("T-2", token, "done");
    result["acceptance_check"][0]["criterion"] = json!("unit tests pass");
    crew.submit(result, Vec::new()).unwrap();
    crew.issue("T-4").unwrap();
    crew.holds();
}

#[test]
fn the_same_foreign_bundle_is_imported_once() {
    let mut crew = receiver();
    take(&mut crew, &bundle(), false).unwrap();
    assert!(!take(&mut crew, &bundle(), false).unwrap().created);
    let mut other = bundle();
    other["objective"] = json!("Something else");
    denied(take(&mut crew, &other, false), "CONCURRENCY_CONFLICT", "run_exists");
    crew.issue("T-4").unwrap();
    denied(take(&mut crew, &bundle(), false), "CONCURRENCY_CONFLICT", "run_exists");
}

#[test]
fn an_imported_foreign_run_can_be_handed_on() {
    let mut crew = receiver();
    take(&mut crew, &bundle(), false).unwrap();
    let sent = exported(&mut crew, false).unwrap();
    let mut third = receiver();
    take(&mut third, &sent.document, false).unwrap();
    assert_eq!(exported(&mut third, false).unwrap().text(), sent.text());
    third.holds();
}

#[test]
fn an_invalid_foreign_bundle_is_refused_and_nothing_is_written() {
    let change = |path: &str, value: Value| {
        let mut document = bundle();
        *document.pointer_mut(path).unwrap() = value;
        document
    };
    let cases = [
        (change("/active_locks", json!([])), "LEDGER_INCONSISTENT", "reconcile"),
        (change("/open_blockers", json!([])), "LEDGER_INCONSISTENT", "reconcile"),
        (change("/ledger/0/lock_scope", json!(["../x"])), "SCOPE_VIOLATION", "workspace_escape"),
        (
            change("/ledger/0/last_heartbeat_at", json!("2026-02-14T10:00:00Z")),
            "LEDGER_INCONSISTENT",
            "reconcile",
        ),
    ];
    let mut crew = receiver();
    let before = crew.world.state();
    for (document, code, rule) in cases {
        denied(take(&mut crew, &document, false), code, rule);
    }
    let mut unknown = bundle();
    unknown["mood"] = json!("good");
    unknown["ledger"][0]["x_color"] = json!("red");
    denied(take(&mut crew, &unknown, true), "SCHEMA_INVALID", "unknown_field");
    // A part of what writ adds is not a foreign bundle.
    let mut part = bundle();
    part["x_results"] = json!([]);
    denied(take(&mut crew, &part, false), "MISSING_REQUIRED_INPUT", "missing");
    assert_eq!(crew.world.state(), before);
    let answer = take(&mut crew, &unknown, false).unwrap();
    assert_eq!(answer.ignored, ["$.mood", "$.ledger[0].x_color", "$.active_locks[1]"]);
}
