use super::*;
use crate::bridge::learning::{self as learnings};
use proptest::prelude::*;
use serde_json::json;

fn constraint(source: &str, pattern: &str) -> Constraint {
    let item = json!({"pattern": pattern, "detection": "d", "source": source, "confidence": 0.5, "status": "proposed"});
    parse(json!([item]).to_string().as_bytes()).unwrap().remove(0)
}

fn judged(document: &Value, strict: bool) -> String {
    let verdict = validate(document.to_string().as_bytes(), strict);
    format!("{} {}", verdict.code, verdict.details.path.unwrap_or_default()).trim_end().to_owned()
}

#[test]
fn a_list_or_an_object_with_a_list_is_a_quarantine() {
    let item = json!({"pattern": "p", "detection": ""});
    let cases = [
        (json!([]), "OK"),
        (json!([item]), "OK"),
        (json!({"schema_version": 1, "constraints": [item]}), "OK"),
        (json!({"schema_version": 2, "constraints": [item]}), "UNKNOWN_SCHEMA_VERSION $.schema_version"),
        (json!({"constraints": {}}), "SCHEMA_INVALID $.constraints"),
        (json!({}), "MISSING_REQUIRED_INPUT $.constraints"),
        (json!("text"), "SCHEMA_INVALID $"),
        (json!([{"detection": "d"}]), "SCHEMA_INVALID $[0].pattern"),
        (json!([{"pattern": "p", "detection": "d", "confidence": 1.5}]), "SCHEMA_INVALID $[0].confidence"),
    ];
    for (document, expected) in cases {
        assert_eq!(judged(&document, false), expected, "{document}");
    }
    assert_eq!(
        judged(&json!([{"pattern": "p", "detection": "d", "owner": 1}]), true),
        "SCHEMA_INVALID $[0].owner"
    );
    assert_eq!(validate(b"[", false).code, "SCHEMA_INVALID");
    let odd = validate(br#"[{"pattern":"p","detection":"d","status":"odd"}]"#, false);
    assert_eq!((odd.allow, odd.details.warnings[0].rule), (true, "status"));
}

#[test]
fn only_current_warnings_become_constraints() {
    let text = "---\nid: l-1\ntype: failure\nconfidence: low\n---\n# Failure: Never share a lock\n\nBecause two write.\n";
    let candidate = LearningCandidate::from(learnings::parse("x", text.as_bytes()).unwrap().remove(0));
    let made = Constraint::from_candidate(&candidate).unwrap();
    let expected = json!({
        "pattern": "Never share a lock", "detection": "Because two write.", "test_template": "",
        "source": "ao-learning-l-1", "confidence": 0.5, "status": "proposed",
    });
    assert_eq!(serde_json::to_value(&made).unwrap(), expected);

    let change = |change: fn(&mut LearningCandidate)| {
        let mut changed = candidate.clone();
        change(&mut changed);
        Constraint::from_candidate(&changed).map(|made| (made.pattern, made.confidence))
    };
    assert_eq!(change(|c| c.kind = KnowledgeType::Learning), None);
    assert_eq!(change(|c| c.is_current = false), None);
    assert_eq!(change(|c| drop(c.extra.insert("superseded_by".to_owned(), json!("other")))), None);
    assert!(
        change(|c| (c.kind, c.maturity) = (KnowledgeType::Learning, "anti-pattern".to_owned())).is_some()
    );
    assert_eq!(change(|c| c.confidence = None).unwrap().1, Some(0.5));
    assert_eq!(change(|c| c.confidence = Some(0.0)).unwrap().1, Some(0.0));
    assert_eq!(change(|c| c.content = format!("Do not. {}", "x".repeat(200))).unwrap().0, "Do not.");
}

#[test]
fn a_merge_keeps_what_the_other_side_decided() {
    let mut old = constraint("ao-learning-1", "old words");
    old.status = Some("active".to_owned());
    old.extra.insert("owner".to_owned(), json!("ol"));
    let theirs = constraint("security-audit", "theirs");
    let same = constraint("ao-learning-2", "same");
    let existing = vec![old, theirs.clone(), same.clone()];
    let incoming = vec![constraint("ao-learning-1", "new words"), same, constraint("ao-learning-3", "new")];
    let merged = merge(existing, incoming.clone());
    assert_eq!((merged.added, merged.updated, merged.unchanged), (1, 1, 1));
    let words: Vec<&str> = merged.constraints.iter().map(|c| c.pattern.as_str()).collect();
    assert_eq!(words, ["new words", "theirs", "same", "new"]);
    assert_eq!(merged.constraints[0].status.as_deref(), Some("active"));
    assert_eq!(merged.constraints[0].extra["owner"], json!("ol"));
    assert_eq!(merged.constraints[1], theirs);
    let again = merge(merged.constraints.clone(), incoming);
    assert_eq!(
        (again.added, again.updated, again.unchanged, again.constraints),
        (0, 0, 3, merged.constraints)
    );
}

#[test]
fn constraints_are_found_by_words_and_shown_to_agents() {
    let one = constraint("a", "No-Secrets");
    assert!(one.mentions("secrets d") && one.mentions("") && !one.mentions("locks"));
    assert_eq!(markdown([&one]), "### Olympus Constraints\n- **[olympus constraint]** No-Secrets: d\n");
}

proptest! {
    #[test]
    fn judging_never_panics(bytes: Vec<u8>, strict: bool) {
        validate(&bytes, strict);
    }

    #[test]
    fn what_is_printed_is_read_back(pattern in "[a-z]{1,5}", extra: i32) {
        let mut one = constraint("s", &pattern);
        one.extra.insert("n".to_owned(), json!(extra));
        let printed = serde_json::to_vec(&[&one]).unwrap();
        prop_assert_eq!(parse(&printed).unwrap(), [one]);
    }
}
