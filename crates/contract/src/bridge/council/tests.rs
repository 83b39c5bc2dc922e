use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn a_verdict_is_found_in_every_form_people_use() {
    let cases = [
        ("# R\n\n## Council Verdict: PASS\n", "PASS"),
        ("## Council Verdict:  WARN \n", "WARN"),
        ("## Council Verdict:\n\nFAIL\n", "FAIL"),
        ("## Council Verdict: PASS (with caveats)", "PASS"),
        ("## Council Verdict: WARN → PASS (after fixes)", "WARN"),
        ("## Council Verdict: PASS with WARN", "PASS"),
        ("## Council Consensus: FAIL", "FAIL"),
        ("## Verdict: PASS\n\n## Council Verdict: FAIL", "FAIL"),
        ("## Verdict: PASS", "PASS"),
        ("## Verdict\n\n`PASS`\n", "PASS"),
        ("## Verdict\nFAIL\n", "FAIL"),
        ("---\nverdict: WARN\n---\n# R\n", "WARN"),
        ("---\nbroken: *x\n---\n## Verdict: WARN\n", "WARN"),
        ("Verdict: `PASS`", "PASS"),
        ("**Verdict:** FAIL", "FAIL"),
        ("# R\n\nNo line says it.", "UNKNOWN"),
        ("", "UNKNOWN"),
        ("## Council Verdict: PASSED", "UNKNOWN"),
        ("## Council Verdict: pass", "UNKNOWN"),
        ("## Council Verdict: DISAGREE", "UNKNOWN"),
        ("```\n## Council Verdict: PASS\n```\n", "UNKNOWN"),
        ("> Last verdict: PASS", "UNKNOWN"),
        ("| Judge | Verdict |\n| a | PASS |", "UNKNOWN"),
        ("## Verdict History: PASS", "UNKNOWN"),
    ];
    for (text, expected) in cases {
        assert_eq!(read_report(text).map_or("UNKNOWN", Outcome::as_str), expected, "{text}");
    }
}

#[test]
fn no_verdict_is_not_a_pass() {
    let verdict = validate(b"# Report\n", false);
    assert_eq!((verdict.allow, verdict.code.as_str()), (false, "MISSING_REQUIRED_INPUT"));
    assert_eq!(verdict.details.more["verdict"], json!("UNKNOWN"));
    let verdict = validate(b"## Verdict: FAIL", false);
    assert_eq!((verdict.allow, &verdict.details.more["verdict"]), (true, &json!("FAIL")));
    assert!(!Outcome::Fail.opens_gate() && Outcome::Warn.opens_gate());
}

#[test]
fn one_failure_is_enough() {
    use Outcome::{Fail, Pass, Warn};
    assert_eq!(consensus(&[]), None);
    assert_eq!(consensus(&[Pass, Pass]), Some(Pass));
    assert_eq!(consensus(&[Pass, Warn]), Some(Warn));
    assert_eq!(consensus(&[Warn, Fail, Pass]), Some(Fail));
}

#[test]
fn the_json_of_a_judge_is_checked_against_its_shape() {
    let mut judgement = json!({
        "verdict": "WARN", "confidence": "HIGH", "key_insight": "k", "recommendation": "r", "schema_version": 2,
        "findings": [{"severity": "minor", "category": "c", "description": "d", "location": "l", "recommendation": "r",
            "fix": null, "why": "w", "ref": null, "id": "f-1"}],
    });
    assert!(validate(judgement.to_string().as_bytes(), false).allow);
    assert!(!validate(judgement.to_string().as_bytes(), true).allow);
    judgement["findings"][0]["severity"] = json!("huge");
    assert_eq!(
        validate(judgement.to_string().as_bytes(), false).details.path.as_deref(),
        Some("$.findings[0].severity")
    );
    judgement["verdict"] = json!("OK");
    assert_eq!(validate(judgement.to_string().as_bytes(), false).details.more["verdict"], json!("UNKNOWN"));
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(---\n)?[-#*`: \nVerdictPASWN]{0,60}", bytes: Vec<u8>) {
        read_report(&text);
        validate(&bytes, false);
    }
}
