use super::*;
use proptest::prelude::*;

#[test]
fn the_last_promise_outside_code_counts() {
    let cases = [
        ("work\n\n<promise>DONE</promise>\n\n## Changes\n- a", Some((Promise::Done, "- a"))),
        (
            "<promise>BLOCKED</promise>\nReason: no key\nReally.\n\nmore",
            Some((Promise::Blocked, "Reason: no key Really.")),
        ),
        ("<promise> PARTIAL </promise>", Some((Promise::Partial, ""))),
        ("say <promise>DONE</promise>\nno: <promise>BLOCKED</promise>", Some((Promise::Blocked, ""))),
        ("<promise>DONE</promise> <promise>EMPTY</promise>", Some((Promise::Empty, ""))),
        ("<promise>DONE</promise>\n```\n<promise>BLOCKED</promise>\n```\n", Some((Promise::Done, ""))),
        ("say `<promise>DONE</promise>` at the end", None),
        ("<promise>DONE</promise>\n<promise>PERHAPS</promise>", None),
        ("<promise>done</promise>", None),
        ("<promise>DONE", None),
        ("", None),
    ];
    for (text, expected) in cases {
        let signal = read(text);
        let signal = signal.as_ref().map(|signal| (signal.promise, signal.detail.as_str()));
        assert_eq!(signal, expected, "{text}");
    }
}

#[test]
fn a_missing_promise_differs_from_an_unknown_one() {
    let judged = |text: &str| validate(text.as_bytes()).details.rule;
    assert_eq!(judged("<promise>DONE</promise>"), None);
    assert_eq!(judged("text").as_deref(), Some("missing"));
    assert_eq!(judged("<promise>SOON</promise>").as_deref(), Some("enum"));
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(<promise>|</promise>|DONE|`|\n|é| ){0,20}", bytes: Vec<u8>) {
        read(&text);
        validate(&bytes);
    }
}
