use serde_json::{Value, json};

use super::*;

fn read(stored: Value) -> Reason {
    serde_json::from_value(stored).unwrap()
}

#[test]
fn a_stored_reason_is_read_as_it_was_written() {
    let reasons = [
        Reason::new("E_TIMEOUT: an agent's own words"),
        Reason::coded(FailureCode::Timeout, "took longer than 1.0s"),
        Reason::coded(FailureCode::Unknown, "`make` failed").with_rule(ReasonRule::CheckFailed),
        Reason::dependency(),
    ];
    for reason in reasons {
        assert_eq!(read(json!(reason)), reason);
    }
    let whole = json!({"code": "E_TIMEOUT", "rule": "run_refused", "text": "x"});
    assert_eq!(json!(read(whole.clone())), whole);
    assert_eq!(json!(Reason::new("x")), json!({"text": "x"}));
}

#[test]
fn the_text_of_an_older_version_gets_its_code_and_rule_and_prints_the_same() {
    let cases = [
        ("exit 1", Reason::new("exit 1")),
        ("HELD_BY_ANOTHER: T-1 has it", Reason::coded(ErrorCode::HeldByAnother, "T-1 has it")),
        ("E_TIMEOUT: took longer than 1.0s", Reason::coded(FailureCode::Timeout, "took longer than 1.0s")),
        ("E_TEAPOT: no", Reason::new("E_TEAPOT: no")),
        ("E_PROCESS_CRASH: no", Reason::new("E_PROCESS_CRASH: no")),
        ("E_UNKNOWN: E_TEAPOT: no", Reason::coded(FailureCode::Unknown, "E_TEAPOT: no")),
        ("dependency", Reason::dependency()),
        ("dependency `a` is failed", Reason::new("dependency `a` is failed")),
        (
            "the run was refused: E_MAX_DEPTH_EXCEEDED: depth 4 is over 3",
            Reason::coded(FailureCode::MaxDepthExceeded, "depth 4 is over 3")
                .with_rule(ReasonRule::RunRefused),
        ),
        ("the run was refused: no", Reason::new("no").with_rule(ReasonRule::RunRefused)),
        (
            "merge conflict with `left` in a",
            Reason::new("merge conflict with `left` in a").with_rule(ReasonRule::MergeConflict),
        ),
        ("merge conflict: your edits", Reason::new("merge conflict: your edits")),
        ("", Reason::new("")),
    ];
    for (text, expected) in cases {
        assert_eq!(read(json!(text)), expected);
        assert_eq!(expected.to_string(), text);
    }
}

#[test]
fn the_code_of_a_failed_check_or_process_is_not_printed() {
    let check = Reason::coded(FailureCode::Unknown, "`make` failed").with_rule(ReasonRule::CheckFailed);
    assert_eq!(check.to_string(), "`make` failed");
    assert_eq!(Reason::coded(FailureCode::ProcessCrash, "exit 1").to_string(), "exit 1");
    let violation =
        Reason::coded(FailureCode::PermissionDenied, "wrote `a`").with_rule(ReasonRule::ScopeViolation);
    assert_eq!(violation.and("restored").to_string(), "E_PERMISSION_DENIED: wrote `a`; restored");
}

#[test]
fn a_warning_of_an_older_version_gets_its_code() {
    let read = |stored: Value| serde_json::from_value::<Warning>(stored).unwrap();
    let coded = Warning::coded(WarningCode::WithoutEffect, "x: y");
    assert_eq!(read(json!("WITHOUT_EFFECT: x: y")), coded);
    assert_eq!(coded.to_string(), "WITHOUT_EFFECT: x: y");
    assert_eq!(read(json!({"code": "WITHOUT_EFFECT", "text": "x: y"})), coded);
    assert_eq!(read(json!("access.files: y")), Warning::new("access.files: y"));
    assert_eq!(json!(Warning::new("WITHOUT_EFFECT: y")), json!({"text": "WITHOUT_EFFECT: y"}));
}
