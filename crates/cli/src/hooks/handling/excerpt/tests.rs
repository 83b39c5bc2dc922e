use serde_json::json;

use super::*;

/// A text that the search for secrets knows.
fn secret() -> String {
    format!("sk-ant-{}", "a1B2c3D4e5F6g7H8i9J0".repeat(3))
}

#[test]
fn excerpts_are_bounded_and_hold_nothing_a_terminal_would_obey() {
    assert_eq!(line("cargo\u{1b}[31m test\n  --all\u{202e}", 120), "cargo[31m test   --all");
    assert_eq!(line(&"ü".repeat(500), 120).chars().count(), 120);
    assert_eq!(head("one\ntwo\u{7}", 5), "one\nt");
    assert_eq!(preview(Some(&json!({"a": "ü"})), 7), "{\"a\":\"");
    assert_eq!(preview(None, 7), "");
    assert_eq!(tail("first\nlast ü", 6), "ast ü");
    assert_eq!(ends("short", 20), "short");
    let long = ends(&format!("begin {} end", "x".repeat(200_000)), 60);
    assert!(long.starts_with("begin ") && long.ends_with(" end") && long.chars().count() == 60, "{long}");
}

#[test]
fn a_secret_that_a_cut_would_divide_is_found_before_the_cut() {
    let text = format!("curl -H 'x-api-key: {}' https://api.example.com", secret());
    for chars in [30, 40, 60] {
        assert!(!line(&text, chars).contains("a1B2"), "{}", line(&text, chars));
        assert!(!head(&text, chars).contains("a1B2"));
        assert!(!tail(&text, chars).contains("i9J0"), "{}", tail(&text, chars));
        assert!(!ends(&text, chars).contains("a1B2"));
        assert!(!preview(Some(&json!({"command": text})), chars).contains("a1B2"));
    }
    assert!(!telling_line(&format!("error: bad key {}", secret()), 40).unwrap().contains("a1B2"));
}

#[test]
fn the_most_telling_line_names_an_error_or_is_the_last() {
    for (output, expected) in [
        (
            "Compiling a\nerror[E0308]: mismatched types\n  --> src/a.rs:3:5\n",
            "error[E0308]: mismatched types",
        ),
        ("running 2 tests\ntest b ... FAILED\ntest result: FAILED. 1 passed\n", "test b ... FAILED"),
        ("step 1\nstep 2\n\n---\n", "step 2"),
        ("sh: 1: nope: not found", "sh: 1: nope: not found"),
    ] {
        assert_eq!(telling_line(output, 160).as_deref(), Some(expected));
    }
    assert_eq!(telling_line(" \n--\n", 160), None);
}
