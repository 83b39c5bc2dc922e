use super::*;
use proptest::prelude::*;
use serde_json::json;

fn value(frontmatter: &str) -> Value {
    match parse(&format!("---\n{frontmatter}\n---\n")) {
        Ok(document) => document.fields.unwrap().to_value(),
        Err(error) => json!(error.to_string()),
    }
}

#[test]
fn what_people_write_is_read() {
    let text = r#"id: learn-1            # a comment
type: learning
confidence: 0.5000
count: 12
zip: 007
done: true
nothing: ~
empty:
date: 2026-03-01
when: 2026-03-01T10:35:06-04:00
reason: utility 0.73 >= 0.55, helpful > harmful (4 > 0)
url: https://example.org/a#b
quoted: "a \"b\" \u00e9: #c"
single: 'it''s'
"odd key": 1
tags: [go, "two words", 'x, y', [deep]]
flow: {a: 1, "b": [2]}
source:
  session: s-1
  evidence:
    - one.md
    - two.md
same:
- a
- b
items:
  - name: n
    size: 3
  - plain
  -
    - inner
text: |
  line one
    indented

  line two
folded: >-
  one
  two

  three
long: this goes
  on below
wide: [a,
  b]"#;
    let expected = json!({
        "id": "learn-1", "type": "learning", "confidence": 0.5, "count": 12, "zip": "007", "done": true,
        "nothing": null, "empty": null, "date": "2026-03-01", "when": "2026-03-01T10:35:06-04:00",
        "reason": "utility 0.73 >= 0.55, helpful > harmful (4 > 0)", "url": "https://example.org/a#b",
        "quoted": "a \"b\" é: #c", "single": "it's", "odd key": 1,
        "tags": ["go", "two words", "x, y", ["deep"]], "flow": {"a": 1, "b": [2]},
        "source": {"session": "s-1", "evidence": ["one.md", "two.md"]}, "same": ["a", "b"],
        "items": [{"name": "n", "size": 3}, "plain", ["inner"]],
        "text": "line one\n  indented\n\nline two\n", "folded": "one two\nthree",
        "long": "this goes on below", "wide": ["a", "b"],
    });
    assert_eq!(value(text), expected);
}

#[test]
fn unsupported_yaml_is_refused_with_its_line() {
    let cases = [
        ("a: 1\na: 2", "duplicate name `a` (line 3)"),
        ("a: {b: 1, b: 2}", "duplicate name `b` (line 2)"),
        ("a: 1\nwords", "simple key expected ':' (line 3)"),
        ("a: &x 1", "anchors, aliases and tags are not supported; quote the text (line 2)"),
        ("a: *x", "anchors, aliases and tags are not supported; quote the text (line 2)"),
        ("a: !!str 1", "anchors, aliases and tags are not supported; quote the text (line 2)"),
        ("a: \"open", "invalid indentation in multiline quoted scalar (line 3)"),
        ("a: [1, 2", "unclosed bracket '[' (line 2)"),
        ("a: \"x\" y", "invalid trailing content after double-quoted scalar (line 2)"),
        ("\ta: 1", "tabs cannot indent (line 2)"),
        ("  a: 1\nb: 2", "did not find expected <document start> (line 3)"),
        ("- a\n- b", "frontmatter must be `name: value` lines (line 2)"),
        ("words", "frontmatter must be `name: value` lines (line 2)"),
        ("a: \"\\q\"", "while parsing a quoted scalar, found unknown escape character (line 2)"),
        ("a: [[[[[[[[[[1]]]]]]]]]]", "nested too deep (line 2)"),
        ("a: |3\n  x", "wrongly indented line in block scalar (line 3)"),
        ("[a]: 1", "a name must be text (line 2)"),
        ("%YAML 1.2\n--- {a: 1}", "frontmatter is one document without directives (line 3)"),
        ("--- {a: 1}", "frontmatter is one document without directives (line 2)"),
        ("title: one: two", "mapping values are not allowed in this context (line 2)"),
    ];
    for (text, message) in cases {
        assert_eq!(value(text), json!(message), "{text}");
    }
    assert_eq!(parse("---\na: 1\n").unwrap_err().message, "the frontmatter has no closing ---");
}

#[test]
fn frontmatter_that_costs_too_much_is_refused() {
    let many = format!("a: [{}]", "1,".repeat(20_000));
    assert_eq!(value(&many), json!("the frontmatter has more than 20000 values (line 1)"));
    let long = format!("a: {}", "x".repeat(1 << 20 | 1));
    assert_eq!(value(&long), json!("the frontmatter has more than 1048576 bytes of text (line 1)"));
    let wide: String = (0..201).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(value(&wide), json!("a mapping has more than 200 names (line 202)"));
}

#[test]
fn a_file_without_frontmatter_is_all_body() {
    for text in ["", "# Title", "--- \n", "-- -\n---\n"] {
        let document = parse(text);
        if text == "--- \n" {
            assert!(document.is_err());
        } else {
            assert_eq!(document.unwrap(), MarkdownDocument { fields: None, body: text });
        }
    }
    let windows = parse("\u{feff}---\r\na: 1\r\n---\r\nbody\r\n").unwrap();
    assert_eq!(
        (windows.fields.unwrap().text("a").map(str::to_owned), windows.body),
        (Some("1".to_owned()), "body\r\n")
    );
}

#[test]
fn plain_text_is_kept_as_written() {
    let document = parse("---\nn: 0.5000\nempty: ''\nnone: null\n---\n").unwrap();
    let fields = document.fields.unwrap();
    assert_eq!((fields.text("n"), fields.number("n")), (Some("0.5000"), Some(0.5)));
    assert_eq!((fields.text("empty"), fields.text("none")), (Some(""), None));
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "(---\n)?[-a:#\\[\\]{}\"'|>&*!, \n\t\\\\0-9é]{0,80}(\n---\n)?") {
        drop(parse(&text));
        drop(parse(&format!("---\n{text}\n---\n")));
    }

    #[test]
    fn what_is_printed_is_read_back(text in "\\PC{0,30}", list in prop::collection::vec("[\\PC\n\t]{0,10}", 0..4), n: i64) {
        let fields = [("text", json!(text)), ("list", json!(list)), ("n", json!(n)), ("flag", json!(true))];
        let printed = render(&fields);
        let read = parse(&printed).unwrap().fields.unwrap().to_value();
        let expected: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        prop_assert_eq!(read, Value::Object(expected));
    }
}
