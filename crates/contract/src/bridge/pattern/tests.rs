use super::*;

#[test]
fn a_pattern_needs_no_frontmatter() {
    let text = "---\nutility: 0.80\nmaturity: established\n---\n\n# Small Steps\n\n## Pattern\n\nOne change\nat a time.\n";
    let expected = Pattern {
        name: "Small Steps".to_owned(),
        description: "One change at a time.".to_owned(),
        utility: Some(0.8),
        maturity: Some("established".to_owned()),
    };
    assert_eq!(parse("x", text.as_bytes()).unwrap(), expected);
    let plain = parse("small-steps", b"One change.").unwrap();
    assert_eq!((plain.name.as_str(), plain.utility), ("small-steps", None));
    assert!(validate(b"One change.", false).allow);
    assert_eq!(validate(b"One change.", true).details.rule.as_deref(), Some("no_title"));
}
