//! What other readers would silently change is refused with a code, whatever kind of document it is said to be.

use serde_json::{Value, json};
use testkit::Cli;

fn cli() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

/// Each refused input with what the refusal says.
fn refused() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("duplicate key", text(r#"{"v": "1", "intent": "x.y.z", "\u0076": "2"}"#), "duplicate key `v`"),
        ("not a number", text(r#"{"v": "1", "intent": NaN}"#), "expected value"),
        ("byte order mark", text("\u{feff}{\"v\": \"1\", \"intent\": \"x.y.z\"}"), "byte order mark"),
        ("trailing data", text(r#"{"v": "1", "intent": "x.y.z"} 1"#), "trailing characters"),
        ("deep lists", text(&"[".repeat(10_000)), "nested deeper than 100"),
        ("deep objects", text(&"{\"v\":".repeat(10_000)), "nested deeper than 100"),
        ("lone surrogate", text(r#"{"v": "1", "intent": "\ud800"}"#), "hex escape"),
        ("integer", text(r#"{"v": "1", "intent": "x", "n": 9007199254740993}"#), "beyond 2^53"),
        ("long integer", text(r#"{"v": "1", "intent": "x", "n": -90071992547409930000}"#), "beyond 2^53"),
        ("not UTF-8", b"{\"v\": \"1\", \"intent\": \"\xff\"}".to_vec(), "not valid UTF-8"),
    ]
}

#[test]
fn every_kind_that_is_one_json_document_refuses_what_readers_disagree_about() {
    let cli = cli();
    for kind in json_kinds(&cli) {
        for (name, mut input, reason) in refused() {
            // Some kinds are lines, and a line without its end is refused for that.
            input.push(b'\n');
            let output = cli.call(["validate", &kind]).stdin(input).run();
            let answer = answer(&output.stdout);
            assert_eq!((output.status.code(), &answer["allow"]), (Some(1), &json!(false)), "{kind} {name}");
            let code = answer["code"].as_str().unwrap_or_default();
            assert!(["SCHEMA_INVALID", "E_PARSE_FAILURE"].contains(&code), "{kind} {name}: {code}");
            let said = answer["reason"].as_str().unwrap_or_default();
            assert!(said.contains(reason), "{kind} {name}: {said}");
        }
    }
}

#[test]
fn what_is_refused_is_also_refused_when_the_kind_is_guessed() {
    let cli = cli();
    for (name, input, _) in refused() {
        let output = cli.call(["validate"]).stdin(input).run();
        assert_eq!(output.status.code(), Some(1), "{name}: {}", output.stdout);
        assert_eq!(answer(&output.stdout)["allow"], false, "{name}");
    }
}

#[test]
fn one_byte_more_than_the_limit_is_refused_by_its_name() {
    let cli = cli();
    let task: Value = serde_json::from_str(include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../contract/vectors/aop/valid/c-2.2-task-full.json"
    )))
    .unwrap();
    let event = json!({"v": "1", "id": "01EVENT00001", "ts": "2026-01-26T12:00:00Z", "type": "event",
        "from": "agent.a", "to": "log.a", "intent": "x.y.z", "corr": "01CORRELATION", "priority": "normal",
        "payload": {}});
    let locks = json!({"locks": []});
    for (kind, document, limit, code) in [
        ("aop", task, 200 * 1024, "E_CONTEXT_OVERFLOW"),
        ("aee", event, 1024 * 1024, "SCHEMA_INVALID"),
        ("locks", locks, 1024 * 1024, "SCHEMA_INVALID"),
    ] {
        for (bytes, expected) in [(limit, "OK"), (limit + 1, code)] {
            let mut text = document.to_string();
            text.push_str(&" ".repeat(bytes - text.len()));
            let output = cli.call(["validate", kind]).stdin(text).run();
            let answer = answer(&output.stdout);
            assert_eq!(answer["code"], expected, "{kind} {bytes}: {}", answer["reason"]);
            assert!(
                expected == "OK" || answer["reason"].to_string().contains(&limit.to_string()),
                "{answer}"
            );
        }
    }
}

#[test]
fn a_learning_file_may_start_with_a_byte_order_mark() {
    let learning = "\u{feff}---\nid: L-1\n---\n# Learning: keep it small\n\nIt is read more often.\n";
    let output = cli().call(["validate", "learning"]).stdin(learning).run();
    assert_eq!(output.status.code(), Some(0), "{}", output.stdout);
}

#[test]
fn no_text_for_people_commands_their_terminal() {
    let cli = cli();
    let document = r#"{"locks": [], "\u001b]0;owned\u0007\u202e": 1}"#;
    let words = ["validate", "locks", "--strict", "--output", "text"];
    let output = cli.call(words).stdin(document).run();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("u001b]0;owned"), "{}", output.stdout);
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!output.stdout.contains(obeyed), "{:?}", output.stdout);
    std::fs::write(cli.project().join("plan.toml"), "objective = \"o\"\n\"a\\u001b[2J\" = 1\n").unwrap();
    let output = cli.run(["plan", "check", "plan.toml", "--output", "text"]);
    assert!(!output.stderr.contains(obeyed), "{:?}", output.stderr);
}

/// The kinds with a schema, except those that may also be written as other text.
fn json_kinds(cli: &Cli) -> Vec<String> {
    let listed = answer(&cli.run(["schema", "list", "--output", "json"]).stdout);
    let kinds = listed["kinds"].as_array().unwrap().iter();
    let json = kinds.filter(|kind| kind["schema"] == true).map(|kind| kind["kind"].as_str().unwrap());
    json.filter(|kind| !["plan", "council"].contains(kind)).map(str::to_owned).collect()
}

fn answer(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
