use super::*;

#[test]
fn every_kind_answers_in_the_one_shape() {
    for kind in Kind::ALL {
        for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff", b"{\"a\":1,\"a\":2}"] {
            let verdict = validate(Some(*kind), bytes, &ValidateOptions::default());
            assert_eq!(verdict.details.kind, kind.as_str());
            let answer = serde_json::to_value(&verdict).unwrap();
            assert!(answer["details"]["findings"].is_array() && answer["details"]["warnings"].is_array());
            assert_eq!(verdict.allow, verdict.code == "OK", "{kind}: {answer}");
            assert_eq!(verdict.allow, verdict.details.findings.is_empty(), "{kind}: {answer}");
            assert_eq!(verdict.exit_code() == 0, verdict.allow);
        }
    }
}

#[test]
fn kinds_have_other_names_too() {
    assert_eq!(Kind::named("envelope"), Some(Kind::Orchestrator));
    assert_eq!(Kind::named("quarantine"), Some(Kind::Constraint));
    assert_eq!(Kind::named("aop"), Some(Kind::Aop));
    assert_eq!(Kind::named("AOP"), None);
}

#[test]
fn the_kind_of_a_document_is_detected_from_its_content() {
    let cases = [
        (r#"{"aop_version": "2.0.2-C"}"#, Kind::Aop),
        (r#"{"audit_record_id": "a", "aop_version": "2.0.0"}"#, Kind::AopAudit),
        (r#"{"v": "1", "intent": "a.b", "corr": "x"}"#, Kind::Aee),
        ("{\"v\":\"1\",\"intent\":\"a.b\"}\n{\"v\":\"1\",\"intent\":\"a.b\"}\n", Kind::Trace),
        (r#"{"contract": "INVOCATION_ENVELOPE", "source_system": "ao"}"#, Kind::Bridge),
        (r#"{"packet_type": "assignment"}"#, Kind::Assignment),
        (r#"{"locks": []}"#, Kind::Locks),
        (r#"{"task_id": "T-1", "acceptance_check": []}"#, Kind::Result),
        (r#"{"assignments": [], "ledger_delta": [], "blockers": []}"#, Kind::Orchestrator),
        ("{\"actor\":\"a\",\"files_touched\":[]}\n{\"actor\":\"b\",\"files_touched\":[]}\n", Kind::Worklog),
        (r#"{"ledger": [], "active_locks": []}"#, Kind::Reconcile),
        (r#"{"ledger": [], "active_locks": [], "open_blockers": []}"#, Kind::Handoff),
        (r#"{"now": "2026-02-14T20:00:00Z", "tasks": []}"#, Kind::Watchdog),
        (r#"{"stack_id": "s"}"#, Kind::Stack),
        (r#"{"quest_id": "q", "bead_id": "b", "passed": true}"#, Kind::Stage1),
        (r#"{"default_mode": "off", "rollback_matrix": []}"#, Kind::Memrl),
        (r#"[{"pattern": "p", "detection": "d"}]"#, Kind::Constraint),
        ("[]", Kind::Constraint),
        (r#"{"id": "a", "extracted_at": "t"}"#, Kind::Candidate),
        (r#"{"id": "a", "type": "LEARNING", "title": "t", "quest_id": "q"}"#, Kind::Harvest),
        (r#"{"schema_version": "v1", "success": true, "data": {}}"#, Kind::Continuity),
        (r#"{"verdict": "PASS", "key_insight": "k"}"#, Kind::Council),
        ("## Council Verdict: PASS\n", Kind::Council),
        ("All is well.\n\n<promise>DONE</promise>\n", Kind::Promise),
        ("---\nid: x\ntype: learning\n---\n\n# T\n", Kind::Learning),
        ("---\ntype: pattern\n---\n\n# T\n", Kind::Pattern),
        ("{\"id\":\"c\",\"started\":\"t\"}\n{\"step\":\"plan\",\"locked\":true}\n", Kind::Ratchet),
        ("objective = \"x\"\n[[task]]\nid = \"a\"\n", Kind::Plan),
        ("[[task]]\nid = \"a\"\n[other]\nobjective = 1\n", Kind::Plan),
        (r#"{"objective": "x", "task": []}"#, Kind::Plan),
        (r#"{"aop_version": "2.0.2-C", "#, Kind::Aop),
    ];
    for (text, kind) in cases {
        assert_eq!(detect(text.as_bytes()), Some(kind), "{text}");
    }
    for text in ["", "hello", "{}", "1", "{", "[1]", "\u{0}"] {
        assert_eq!(detect(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn an_unknown_document_is_refused() {
    let rule = |bytes: &[u8]| validate(None, bytes, &ValidateOptions::default()).details.rule;
    assert_eq!(rule(b"  \n").as_deref(), Some("empty_input"));
    assert_eq!(rule(b"{}").as_deref(), Some("unknown_kind"));
    assert_eq!(rule(b"\xff").as_deref(), Some("unknown_kind"));
}

#[test]
fn a_validator_that_cannot_run_refuses() {
    let verdict = could_not_work(None, "unreadable", "could not read a.json");
    assert_eq!((verdict.allow, verdict.exit_code(), verdict.code.as_str()), (false, 2, "MISSING_VALIDATOR"));
}
