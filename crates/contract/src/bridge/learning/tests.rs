use super::*;
use crate::bridge::harvest;
use proptest::prelude::*;
use serde_json::json;

const HARVESTED: &str = "---\nid: \"learn-2026-03-01-aa11\"\ntype: failure\nsource: \"ol-harvest\"\nquest_id: \"ol-31\"\n\
    created_at: \"2026-03-01T10:00:00Z\"\ntags: [\"locks\", go]\n---\n\n# Do not share a lock file\n\nTwo writers\nmeet.\n\n## More\n\nText.\n";

fn one(stem: &str, text: &str) -> Learning {
    let mut learnings = parse(stem, text.as_bytes()).unwrap();
    assert_eq!(learnings.len(), 1);
    learnings.remove(0)
}

#[test]
fn a_harvested_file_is_read_whole() {
    let expected = Learning {
        id: "learn-2026-03-01-aa11".to_owned(),
        kind: Some(KnowledgeType::Failure),
        title: "Do not share a lock file".to_owned(),
        summary: "Two writers meet.".to_owned(),
        body: "\n\nTwo writers\nmeet.\n\n## More\n\nText.\n".to_owned(),
        created_at: Some("2026-03-01T10:00:00Z".to_owned()),
        tags: vec!["locks".to_owned(), "go".to_owned()],
        confidence: None,
        utility: None,
        maturity: None,
        source: Some("ol-harvest".to_owned()),
        quest_id: Some("ol-31".to_owned()),
        is_superseded: false,
    };
    assert_eq!(one("file", HARVESTED), expected);
    assert_eq!(validate(HARVESTED.as_bytes(), true).code, "OK");
}

#[test]
fn files_are_read_as_people_write_them() {
    let read = one(
        "2026-03-02-note",
        "---\ndate: 2026-03-02\nconfidence: high\nmaturity: established\n---\nOnly text.\n",
    );
    assert_eq!((read.id.as_str(), read.title.as_str()), ("2026-03-02-note", "2026-03-02-note"));
    assert_eq!((read.created_at.as_deref(), read.confidence), (Some("2026-03-02"), Some(0.9)));
    assert_eq!(read.kind, Some(KnowledgeType::Learning));
    let promoted = "# Failure: Never do that\n\n**ID**: cand-7\n**Date**: 2026-03-03\n\n## MemRL Metrics\n\n- **Utility**: 0.61\n- **Maturity**: candidate\n";
    let read = one("x", promoted);
    assert_eq!((read.id.as_str(), read.kind), ("cand-7", Some(KnowledgeType::Failure)));
    assert_eq!((read.utility, read.maturity.as_deref()), (Some(0.61), Some("candidate")));
    let superseded = one("x", "---\nsuperseded_by: other\ntype: pattern\nconfidence: 7\n---\n# A\n");
    assert_eq!((superseded.is_superseded, superseded.kind, superseded.confidence), (true, None, None));
    assert!(!one("x", "---\nsuperseded_by: ~\n---\n# A\n").is_superseded);
}

#[test]
fn several_blocks_are_several_learnings() {
    let text = "---\nid: two\n---\n# Learning: First\n\na\n\n```\n# Learning: not one\n```\n\n# Failure: Second\n\nb\n";
    let learnings = parse("x", text.as_bytes()).unwrap();
    let ids: Vec<(&str, &str, &str)> =
        learnings.iter().map(|l| (l.id.as_str(), without_prefix(&l.title), l.summary.as_str())).collect();
    assert_eq!(ids, [("two", "First", "a"), ("two#2", "Second", "b")]);
}

#[test]
fn a_line_of_json_is_a_learning_too() {
    let line = b"{\"id\":\"L-1\",\"title\":\"T\",\"content\":\"Some text. More.\",\"utility\":0.7,\"superseded_by\":null}\n{}";
    let read = parse_jsonl("x", line).unwrap();
    assert_eq!((read.id.as_str(), read.title.as_str(), read.utility), ("L-1", "T", Some(0.7)));
    assert!(!read.is_superseded);
    assert!(parse_jsonl("x", b"[]").is_err());
}

#[test]
fn strictly_the_contracts_fields_must_be_there() {
    let cases: [(&str, &str); 6] = [
        ("id: \"learn-2026-03-01-aa11\"\n", "MISSING_REQUIRED_INPUT missing $.id"),
        ("quest_id: \"ol-31\"\n", "MISSING_REQUIRED_INPUT missing $.quest_id"),
        ("tags: [\"locks\", go]\n", "MISSING_REQUIRED_INPUT missing $.tags"),
        ("# Do not share a lock file", "SCHEMA_INVALID no_title $"),
        ("10:00:00Z", "SCHEMA_INVALID form $.created_at"),
        ("failure", "MISSING_REQUIRED_INPUT empty $.type"),
    ];
    for (removed, expected) in cases {
        let text = HARVESTED.replacen(removed, "", 1);
        let strict = validate(text.as_bytes(), true);
        let path = strict.details.path.unwrap();
        assert_eq!(format!("{} {} {path}", strict.code, strict.details.rule.unwrap()), expected);
        let tolerant = validate(text.as_bytes(), false);
        assert!(tolerant.allow && !tolerant.details.warnings.is_empty());
    }
    assert_eq!(validate(b"---\na: *x\n---\n", false).details.rule.as_deref(), Some("frontmatter"));
    assert_eq!(validate(b" \n", false).details.rule.as_deref(), Some("empty_input"));
    assert_eq!(validate(b"\xff", false).details.rule.as_deref(), Some("utf8"));
}

#[test]
fn a_harvest_becomes_a_file_that_is_read_back() {
    let harvest = json!({
        "id": "learn-1", "type": "LEARNING", "title": "Say \"why\"\n# not this", "summary": "Because.", "quest_id": "ol-9",
        "category": "process", "tags": ["a: b", "#c"], "created_at": "2026-03-01T10:00:00Z",
    });
    let candidate = LearningCandidate::from(harvest::parse(harvest.to_string().as_bytes()).unwrap());
    let text = render(&candidate);
    assert_eq!(validate(text.as_bytes(), true).code, "OK", "{text}");
    let read = one("x", &text);
    assert_eq!((read.id.as_str(), read.quest_id.as_deref()), ("learn-1", Some("ol-9")));
    assert_eq!(read.title, "Say \"why\" # not this");
    assert_eq!(read.tags, ["a: b", "#c"]);
    assert_eq!(read.summary, "Because.");
}

#[test]
fn no_id_leads_out_of_the_folder() {
    assert_eq!(file_name("learn-2026-03-01-aa11"), "learn-2026-03-01-aa11.md");
    for id in ["../../etc/passwd", "a/b", ".hidden", "", "a b", "ä", &"x".repeat(101)] {
        let name = file_name(id);
        assert!(!name.contains('/') && name.starts_with("learning-") && name.len() < 70, "{name}");
    }
    assert_ne!(file_name("a/b"), file_name("a b"));
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(---\n)?[-#*a: `\n\\[\\]Learning]{0,80}", bytes: Vec<u8>, strict: bool) {
        drop(parse("x", text.as_bytes()));
        drop(parse("x", &bytes));
        drop(parse_jsonl("x", &bytes));
        validate(text.as_bytes(), strict);
        validate(&bytes, strict);
    }
}
