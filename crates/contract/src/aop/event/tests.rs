use serde_json::json;

use super::*;
use crate::aop::{parse_event, validate};
use crate::domain::report::{FinalSignal, ReportedState};

fn report() -> Value {
    json!({
        "aop_version": "2.0.2-C", "message_type": "EVENT", "event": "SESSION_FINAL_REPORT",
        "session_id": "s", "timestamp": "2026-02-26T13:00:00Z",
        "session_status": {"state": "COMPLETED", "final_signal": "PARTIAL_SUCCESS"},
        "totals": {"total_tasks": 2, "completed": 1, "failed": 1, "total_cost_usd": 0.5},
        "delegation_graph": {
            "nodes": [
                {"task_id": "a", "depth": 1, "state": "COMPLETED", "final_signal": "SUCCESS"},
                {"task_id": "b", "parent_task_id": "a", "depth": 2, "state": "FAILED", "depends_on": ["a"]},
            ],
            "edges": [{"from": "a", "to": "b", "type": "DELEGATION"}],
            "max_depth": 3,
        },
        "tasks": [{"task_id": "b", "state": "FAILED", "error_code": "E_TIMEOUT", "attempts": 2}],
        "cost_summary": {"actual_cost_usd": 0.5, "by_provider": {"LOCAL": 0.5}, "by_agent": {"Emma": 0.5}},
        "audit_trail": {"storage_path": AuditTrail::STORAGE_PATH, "record_count": 4},
        "event_counts": {"HEARTBEAT": 7},
        "extensions": {"x_note": 1},
    })
}

#[test]
fn a_final_report_is_read_and_printed_whole() {
    let (event, warnings) = parse_event(report().to_string().as_bytes()).unwrap();
    assert_eq!((event.kind(), warnings), (EventKind::SessionFinalReport, Vec::new()));
    let mut printed = serde_json::to_value(&event).unwrap();
    assert_eq!(serde_json::from_value::<Event>(printed.clone()).unwrap(), event);
    let header = printed.as_object_mut().unwrap();
    assert_eq!(header.remove("schema_version"), Some(json!("2.0.2")));
    assert_eq!(header.remove("protocol_family"), Some(json!("AOP")));
    header.insert("timestamp".to_owned(), json!("2026-02-26T13:00:00Z"));
    assert_eq!(printed, report());
}

#[test]
fn unknown_fields_are_tolerated_in_a_report_unless_strict() {
    let mut other = report();
    other["mood"] = json!("good");
    let bytes = other.to_string();
    assert!(validate(bytes.as_bytes(), false).allow);
    assert_eq!(validate(bytes.as_bytes(), true).reason, "$.mood: unknown field `mood`");
}

#[test]
fn a_session_ends_as_its_tasks_did() {
    let of = |signals: &[FinalSignal]| {
        let status = SessionStatus::of(signals);
        (status.state, status.final_signal)
    };
    let (success, partial, failure) =
        (FinalSignal::Success, FinalSignal::PartialSuccess, FinalSignal::Failure);
    assert_eq!(of(&[]), (ReportedState::Completed, success));
    assert_eq!(of(&[success, success]), (ReportedState::Completed, success));
    assert_eq!(of(&[success, failure]), (ReportedState::Completed, partial));
    assert_eq!(of(&[partial]), (ReportedState::Completed, partial));
    assert_eq!(of(&[failure, FinalSignal::Aborted]), (ReportedState::Failed, failure));
}
