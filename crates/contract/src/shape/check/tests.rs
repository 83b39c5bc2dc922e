use super::*;
use crate::shape::{List, Map, NON_BLANK_FORM, PERCENT, TEXT, TIME, UNBOUNDED, optional, required, text};
use serde_json::json;

static INNER: Object = Object {
    name: "inner",
    about: "",
    fields: &[required("at", TIME, ""), optional("done", PERCENT, "")],
    unknown: Unknown::OnlyExtensions,
};

static OUTER: Object = Object {
    name: "outer",
    about: "",
    fields: &[
        required("title", text(1, 5), ""),
        optional("kind", Shape::Word(&["a", "b"]), ""),
        optional("items", Shape::List(&List { item: Shape::Object(&INNER), min: 1, max: 2 }), ""),
        optional("command", Shape::Either(&[TEXT, Shape::List(&List { item: TEXT, min: 0, max: 9 })]), ""),
        optional(
            "env",
            Shape::Map(&Map {
                value: TEXT,
                key: Text { min: 0, max: UNBOUNDED, form: Some(&NON_BLANK_FORM) },
            }),
            "",
        ),
        optional("note", Shape::Nullable(&TEXT), ""),
    ],
    unknown: Unknown::Refused,
};

fn run(value: &Value) -> String {
    let findings = check(&Shape::Object(&OUTER), value, false).sorted();
    findings.iter().map(|f| format!("{} [{}] {}", f.path, f.rule, f.message)).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_finding_is_reported_with_its_place() {
    let value = json!({
        "title": "",
        "kind": "c",
        "items": [{"at": "yesterday", "done": 101}, {"done": 1.0, "x_ok": 1, "y": 1}, 3],
        "command": 7,
        "env": {" ": "v", "A": 1},
        "titel": "x",
    });
    insta::assert_snapshot!(run(&value), @r#"
    $.command [type] must be text or a list, is a number
    $.env.A [type] must be text, is a number
    $.env[" "] [key] the name must be text that is not blank
    $.items [max_items] allows at most 2, has 3
    $.items[0].at [form] must be a time in RFC 3339 form, such as 2026-01-26T12:00:00Z
    $.items[0].done [maximum] must be at most 100, is 101
    $.items[1].at [missing] `at` is required
    $.items[1].y [unknown_field] unknown field `y`
    $.items[2] [type] must be an object, is a number
    $.kind [enum] must be one of a, b; is `c`
    $.titel [unknown_field] unknown field `titel`; did you mean `title`?
    $.title [min_length] must not be empty
    "#);
}

#[test]
fn a_valid_document_has_no_findings() {
    let value =
        json!({"title": "äöüéß", "command": ["a"], "note": null, "items": [{"at": "2026-01-26T12:00:00Z"}]});
    assert_eq!(run(&value), "");
}

#[test]
fn findings_are_bounded() {
    let value = Value::Array(vec![json!(1); 1000]);
    let findings = check(&Shape::List(&List { item: TEXT, min: 0, max: UNBOUNDED }), &value, false);
    assert_eq!((findings.iter().count(), findings.omitted), (100, 900));
}
