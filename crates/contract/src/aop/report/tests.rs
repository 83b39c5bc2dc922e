use serde_json::json;

use super::*;
use crate::domain::limits;
use crate::domain::report::{ArtifactSeen, ArtifactStatus, CheckpointSeen, CheckpointStatus, Difference};
use crate::domain::time::Timestamp;

fn response(fields: serde_json::Value) -> Response {
    let mut response = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
        "message_type": "RESPONSE", "session_id": "S-1", "task_id": "T-1",
        "agent": {"name": "emma", "provider": "OTHER", "model": "m"},
        "task_status": {"state": "COMPLETED", "final_signal": "SUCCESS"},
    });
    response.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(response).unwrap()
}

fn report(fields: serde_json::Value) -> ExecutorReport {
    report_of(response(fields)).bounded(&|text| text.replace("secret", "*"))
}

fn artifact(fields: serde_json::Value) -> ExecutorReport {
    let mut made = json!({"type": "FILE", "path": "a.txt", "status": "CREATED"});
    made.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    report(json!({"execution_summary": {"summary": "s", "actions": ["a"], "output_artifacts": [made]}}))
}

fn found(mut report: ExecutorReport, seen: ArtifactSeen) -> Vec<String> {
    report.output_artifacts[0].seen = Some(seen);
    compare(&mut report, &KnownOfAttempt::default(), &[]);
    report.findings.iter().map(Difference::told).collect()
}

fn there(status: Option<ArtifactStatus>) -> ArtifactSeen {
    ArtifactSeen { status, digest: Some("sha256:ab".to_owned()), size_bytes: Some(3), problem: None }
}

#[test]
fn a_report_has_everything_that_a_response_says_and_no_secret() {
    let report = report(json!({
        "task_status": {"state": "COMPLETED", "final_signal": "PARTIAL_SUCCESS", "message": "a secret"},
        "execution_summary": {"summary": "s", "actions": ["one"], "warnings": ["w"], "errors": ["e"]},
        "checkpoint_results": [{"checkpoint_id": "C", "status": "PASS", "evidence": ["a secret"]}],
        "error_details": {"error_code": "E_X", "message": "m", "recovery_suggestions": ["r"]},
        "timing": {"started_at": "2026-01-01T12:00:00Z", "completed_at": "2026-01-01T12:00:01Z",
            "duration_seconds": 1, "retries_attempted": 2},
        "cost_tracking": {"actual_cost_usd": 0.5, "model_pricing_tier": "standard"},
        "progress_log": {"progress_percentage": 60},
    }));
    let value = serde_json::to_value(&report).unwrap();
    assert_eq!(
        value,
        json!({
            "state": "COMPLETED", "final_signal": "PARTIAL_SUCCESS", "message": "a *",
            "agent": {"name": "emma", "provider": "OTHER", "model": "m"},
            "summary": "s", "actions": ["one"], "warnings": ["w"], "errors": ["e"],
            "checkpoint_results": [{"checkpoint_id": "C", "status": "PASS", "evidence": ["a *"]}],
            "error": {"error_code": "E_X", "message": "m", "recovery_suggestions": ["r"]},
            "timing": {"started_at": "2026-01-01T12:00:00.000Z", "completed_at": "2026-01-01T12:00:01.000Z",
                "duration_seconds": 1, "retries_attempted": 2},
            "cost": {"actual": 500_000, "model_pricing_tier": "standard"},
            "progress": {"progress_percentage": 60},
        })
    );
    assert_eq!(serde_json::from_value::<ExecutorReport>(value).unwrap(), report);
    assert!(report.is_partial());
}

#[test]
fn what_does_not_fit_is_counted() {
    let long = "ä".repeat(limits::REPORT_TEXT_BYTES_MAX);
    let actions: Vec<String> = (0..limits::REPORT_ENTRIES_MAX + 5).map(|n| n.to_string()).collect();
    let report = report(json!({"execution_summary": {"summary": long, "actions": actions}}));
    assert_eq!(report.actions.len(), limits::REPORT_ENTRIES_MAX);
    assert_eq!(report.left_out, 6);
    assert!(report.summary.unwrap().len() <= limits::REPORT_TEXT_BYTES_MAX + "…".len());
    let many = vec!["x".repeat(limits::REPORT_TEXT_BYTES_MAX); limits::REPORT_ENTRIES_MAX];
    let full = self::report(json!({"execution_summary": {"summary": "s", "actions": many}}));
    let bytes: usize = full.actions.iter().map(String::len).sum();
    assert!(bytes <= limits::REPORT_BYTES_MAX && full.left_out > 0, "{bytes}");
}

#[test]
fn a_false_hash_size_or_status_of_an_artifact_is_a_finding() {
    let said = json!({"hash": "sha256:AB", "size_bytes": 3});
    assert_eq!(found(artifact(said.clone()), there(Some(ArtifactStatus::Created))), Vec::<String>::new());
    assert_eq!(found(artifact(json!({"hash": "ab"})), there(None)), Vec::<String>::new());
    assert_eq!(
        found(
            artifact(json!({"hash": "sha256:cd", "size_bytes": 4})),
            there(Some(ArtifactStatus::Unchanged))
        ),
        [
            "output_artifacts[a.txt].status: claimed CREATED, seen UNCHANGED",
            "output_artifacts[a.txt].hash: claimed sha256:cd, seen sha256:ab",
            "output_artifacts[a.txt].size_bytes: claimed 4, seen 3",
        ]
    );
    let gone = ["output_artifacts[a.txt].status: claimed CREATED, seen the file does not exist"];
    assert_eq!(found(artifact(said), ArtifactSeen::default()), gone);
    let stays = ["output_artifacts[a.txt].status: claimed DELETED, seen the file exists"];
    assert_eq!(found(artifact(json!({"status": "DELETED"})), there(None)), stays);
    let problem = ArtifactSeen { problem: Some("outside".to_owned()), ..ArtifactSeen::default() };
    let outside = ["output_artifacts[a.txt].path: claimed CREATED, seen outside"];
    assert_eq!(found(artifact(json!({})), problem), outside);
}

#[test]
fn a_checkpoint_result_that_writ_did_not_see_is_a_finding() {
    let own = |status, problem: Option<&str>| CheckpointSeen {
        checkpoint_id: "C".to_owned(),
        phase_id: "P".to_owned(),
        status,
        problem: problem.map(str::to_owned),
    };
    let said = |word: &str, own: &[CheckpointSeen]| {
        let mut report = report(json!({"checkpoint_results": [{"checkpoint_id": "C", "status": word}]}));
        compare(&mut report, &KnownOfAttempt::default(), own);
        report.findings.iter().map(Difference::told).collect::<Vec<_>>()
    };
    let pass = [own(CheckpointStatus::Pass, None)];
    assert!(said("PASS", &pass).is_empty() && said("RECOVERED", &pass).is_empty());
    assert_eq!(said("FAIL", &pass), ["checkpoint_results[C]: claimed FAIL, seen PASS"]);
    let fail = [own(CheckpointStatus::Fail, Some("exit 1"))];
    assert_eq!(said("PASS", &fail), ["checkpoint_results[C]: claimed PASS, seen FAIL: exit 1"]);
    assert!(said("PASS", &[own(CheckpointStatus::Pending, None)]).is_empty());
    assert_eq!(
        said("PASS", &[]),
        ["checkpoint_results[C]: claimed PASS, seen the TASK has no such checkpoint"]
    );
}

#[test]
fn claimed_times_may_differ_as_clocks_do_and_no_more() {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let said = |started: &str, completed: &str, seconds: u64| {
        let mut report = report(json!({"timing": {
            "started_at": started, "completed_at": completed, "duration_seconds": seconds,
        }}));
        let timing = report.timing.as_mut().unwrap();
        timing.seen_started_at = Some(at("2026-01-01T12:00:00Z"));
        timing.seen_ended_at = Some(at("2026-01-01T12:00:10Z"));
        compare(&mut report, &KnownOfAttempt::default(), &[]);
        report.findings.iter().map(|found| found.what.clone()).collect::<Vec<_>>()
    };
    assert!(said("2026-01-01T11:59:40Z", "2026-01-01T12:00:30Z", 11).is_empty());
    assert_eq!(
        said("2026-01-01T11:00:00Z", "2026-01-01T13:00:00Z", 12),
        ["timing.started_at", "timing.completed_at", "timing.duration_seconds"]
    );
}

#[test]
fn another_model_than_the_one_asked_for_is_a_finding() {
    let told = |asked: &str| {
        let mut report = report(json!({"agent": {"name": "e", "provider": "OTHER", "model": "big-2026"}}));
        compare(&mut report, &KnownOfAttempt { model: Some(asked), ..KnownOfAttempt::default() }, &[]);
        report.findings.len()
    };
    assert_eq!((told("big"), told("big-2026"), told("small")), (0, 0, 1));
}
