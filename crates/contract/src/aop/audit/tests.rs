use proptest::prelude::*;
use serde_json::json;

use super::*;

const TASK: &str = include_str!("../../../vectors/aop/valid/c-2.1-task-minimal.json");
const RESPONSE: &str = include_str!("../../../vectors/aop/valid/c-5-response.json");

fn record(kind: &str, role: &str, payload: impl Into<Value>) -> Value {
    json!({
        "audit_record_id": "0b1e8c52-6a0f-4c1e-9f53-2f3f6f1f9a77",
        "audit_version": "1.0.0",
        "timestamp": "2026-03-01T12:00:00Z",
        "session_id": "AOP-SESSION-2026-02-26-001",
        "task_id": "TASK-001",
        "record_type": kind,
        "actor": {"name": "writ", "role": role, "provider": null, "model": null},
        "payload": payload.into(),
        "context": {"parent_task_id": null, "attempt": 1, "correlation_id": "AOP-SESSION-2026-02-26-001"},
        "governance": {
            "guard_rails_applied": [],
            "budget_status": {"max_cost_usd": 5.0, "current_cost_usd": 0, "within_budget": true},
            "access_decision": "ALLOWED",
            "reason_code": null,
        },
    })
}

fn every_kind() -> Vec<Value> {
    let task: Value = serde_json::from_str(TASK).unwrap();
    let response: Value = serde_json::from_str(RESPONSE).unwrap();
    let routing = json!({"input_version": "V1", "routed_to": "Emma", "fallback_triggered": true});
    let check = json!({"check_type": "BUDGET", "result": "WARN", "details": "near", "error_code": null});
    let artifact = json!({"path": "a", "restored_from": "b", "status": "SUCCESS"});
    let rollback =
        json!({"trigger": "TASK_ABORTED", "artifacts_rolled_back": [artifact], "status": "SUCCESS"});
    let summary = json!({
        "total_tasks": 2, "completed": 1, "failed": 1, "total_cost_usd": 0.5, "total_duration_seconds": 7,
        "agents_used": ["Emma"], "role_assignments": [{"agent": "Emma", "role": "EXECUTOR", "model": "m"}],
    });
    vec![
        record("TASK_DISPATCHED", "ORCHESTRATOR", task),
        record("RESPONSE_RECEIVED", "SPECIALIST", response),
        record("ROUTING_DECISION", "ROUTER", routing),
        record("GUARD_RAIL_CHECK", "GOVERNANCE", check),
        record("ROLLBACK_EVENT", "ORCHESTRATOR", rollback),
        record("SESSION_SUMMARY", "ORCHESTRATOR", summary),
    ]
}

fn run(value: &Value) -> String {
    let verdict = validate(value.to_string().as_bytes());
    let mut lines = vec![verdict.code];
    lines.extend(verdict.details.findings.iter().map(|f| format!("{} [{}] {}", f.path, f.rule, f.message)));
    let warnings = verdict.details.warnings.iter();
    lines.extend(warnings.map(|f| format!("warning {} [{}] {}", f.path, f.rule, f.message)));
    lines.join("\n")
}

#[test]
fn every_kind_of_record_is_read_and_printed_whole() {
    for value in every_kind() {
        assert_eq!(run(&value), "OK");
        let (record, _) = parse(value.to_string().as_bytes()).unwrap();
        let printed = serde_json::to_string(&record).unwrap();
        assert_eq!(parse(printed.as_bytes()).unwrap().0, record);
    }
}

#[test]
fn the_payload_must_fit_the_type() {
    let [task, check] = [&every_kind()[0], &every_kind()[3]].map(|value| value["payload"].clone());
    insta::assert_snapshot!(run(&record("GUARD_RAIL_CHECK", "GOVERNANCE", json!({"check_type": "X"}))), @r"
    E_SCHEMA_VALIDATION
    $.payload.check_type [enum] must be one of PAYLOAD_LIMIT, BUDGET, TIMEOUT, ACCESS, FINAL_SIGNAL, MINIMAL_REPORT; is `X`
    $.payload.result [missing] `result` is required
    ");
    insta::assert_snapshot!(run(&record("ROLLBACK_EVENT", "SPECIALIST", check)), @r"
    E_SCHEMA_VALIDATION
    $.actor.role [role] a SPECIALIST acts only in RESPONSE_RECEIVED
    $.payload.artifacts_rolled_back [missing] `artifacts_rolled_back` is required
    $.payload.check_type [unknown_field] unknown field `check_type`
    $.payload.details [unknown_field] unknown field `details`
    $.payload.error_code [unknown_field] unknown field `error_code`
    $.payload.result [unknown_field] unknown field `result`
    $.payload.status [missing] `status` is required
    $.payload.trigger [missing] `trigger` is required
    ");
    insta::assert_snapshot!(run(&record("NOTE", "ROUTER", task.clone())), @r"
    E_SCHEMA_VALIDATION
    $.record_type [enum] must be one of TASK_DISPATCHED, RESPONSE_RECEIVED, ROUTING_DECISION, GUARD_RAIL_CHECK, ROLLBACK_EVENT, SESSION_SUMMARY; is `NOTE`
    ");
    let mut stray = record("TASK_DISPATCHED", "EXECUTOR", task);
    stray["session_id"] = json!("S-2");
    insta::assert_snapshot!(run(&stray), @r"
    OK
    warning $.actor.role [role] TASK_DISPATCHED is usually recorded for ORCHESTRATOR
    warning $.payload.session.session_id [session] differs from the session of the record
    ");
}

#[test]
fn the_record_itself_is_closed() {
    let mut value = every_kind().remove(3);
    value["audit_record_id"] = json!("1");
    value["audit_version"] = json!("2.0.0");
    value["context"]["attempt"] = json!(0);
    value["governance"]["budget_status"]["current_cost_usd"] = json!(-1);
    value["extra"] = json!(1);
    insta::assert_snapshot!(run(&value), @r"
    E_SCHEMA_VALIDATION
    $.audit_record_id [form] must be a UUID
    $.audit_version [enum] must be one of 1.0.0; is `2.0.0`
    $.context.attempt [minimum] must be at least 1, is 0
    $.extra [unknown_field] unknown field `extra`
    $.governance.budget_status.current_cost_usd [minimum] must be at least 0, is -1
    ");
    assert_eq!(validate(b"{").code, "E_PARSE_FAILURE");
    assert_eq!(validate(&vec![b' '; 2_000_000]).code, "E_CONTEXT_OVERFLOW");
}

#[test]
fn a_file_name_cannot_leave_its_folder() {
    let (mut record, _) = parse(every_kind()[3].to_string().as_bytes()).unwrap();
    insta::assert_snapshot!(record.file_name(), @"AOP-SESSION-2026-02-26-001_TASK-001_GUARD_RAIL_CHECK_20260301T120000Z_0b1e8c52.json");
    record.session_id = "../evil/x".to_owned();
    insta::assert_snapshot!(record.file_name(), @"---evil-x_TASK-001_GUARD_RAIL_CHECK_20260301T120000Z_0b1e8c52.json");
}

#[test]
fn exactly_the_budget_is_within_it() {
    let within = |max, now| BudgetStatus::of(max, MicroUsd(now)).within_budget;
    assert!(within(Some(MicroUsd(5)), 5) && within(None, 5) && !within(Some(MicroUsd(5)), 6));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        drop(validate(&bytes));
    }
}
