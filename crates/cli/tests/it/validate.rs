//! Validators, schemas, conversions and conformance, as anyone can run them.

use serde_json::{Value, json};
use testkit::Cli;

const TASK: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/vectors/aop/valid/c-2.2-task-full.json"));
const OPERATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/vectors/operator");

fn cli() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

fn answer(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_document_is_allowed_denied_or_the_validator_could_not_work() {
    let cli = cli();
    let cases: [(&[&str], &str, i32, &str); 8] = [
        (&["validate", "aop"], TASK, 0, "OK"),
        (&["validate"], TASK, 0, "OK"),
        (&["validate", "aop", "-"], "{}", 1, "E_PARSE_FAILURE"),
        (&["validate"], "{}", 1, "SCHEMA_INVALID"),
        (&["validate", "envelope"], "", 1, "SCHEMA_INVALID"),
        (&["validate", "aop", "no-such-file"], "", 2, "MISSING_VALIDATOR"),
        (&["validate", "nothing", "-"], "{}", 2, "MISSING_VALIDATOR"),
        (&["validate", "--no-such-flag"], "{}", 2, "MISSING_VALIDATOR"),
    ];
    for (words, input, exit, code) in cases {
        let output = cli.call(words).stdin(input).run();
        let answer = answer(&output.stdout);
        assert_eq!(
            (output.status.code(), answer["code"].as_str()),
            (Some(exit), Some(code)),
            "{words:?} {}",
            output.stdout
        );
        assert_eq!(answer["allow"], exit == 0);
        assert!(answer["details"]["findings"].is_array());
    }
}

#[test]
fn people_get_text_with_the_place_of_every_finding() {
    let output = cli().call(["validate", "locks", "--output", "text"]).stdin(r#"{"locks": 1}"#).run();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.starts_with("denied: SCHEMA_INVALID (locks) "), "{}", output.stdout);
    assert!(output.stdout.contains("$.locks"), "{}", output.stdout);
}

#[test]
fn a_stream_gets_an_answer_a_line_and_a_summary() {
    let heartbeat = json!({"aop_version": "2.0.2-C", "message_type": "EVENT", "event": "HEARTBEAT",
        "session_id": "s", "task_id": "t", "agent": "a", "timestamp": "2026-01-01T00:00:00Z"});
    let input = format!("{heartbeat}\n\n{{}}\n{{\"a\":\n");
    let output = cli().call(["validate", "--output", "ndjson"]).stdin(input).run();
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<Value> = output.stdout.lines().map(answer).collect();
    let told: Vec<(&Value, &Value)> =
        lines[..3].iter().map(|line| (&line["allow"], &line["details"]["line"])).collect();
    assert_eq!(json!(told), json!([[true, 1], [false, 3], [false, 4]]));
    assert_eq!(
        lines[3],
        json!({"summary": {"documents": 3, "allowed": 1, "denied": 2, "could_not_work": 0}})
    );
}

#[test]
fn a_result_is_held_against_its_assignment() {
    let cli = cli();
    let vector =
        std::fs::read_to_string(format!("{OPERATOR}/invalid/result-criterion-missing.json")).unwrap();
    let vector = answer(&vector);
    std::fs::write(cli.project().join("a.json"), vector["options"]["assignment"].to_string()).unwrap();
    let alone = cli.call(["validate", "result"]).stdin(vector["input"].to_string()).run();
    assert_eq!(alone.status.code(), Some(0), "{}", alone.stdout);
    let words = ["validate", "result", "-", "--assignment", "a.json"];
    let held = cli.call(words).stdin(vector["input"].to_string()).run();
    assert_eq!(answer(&held.stdout)["code"], "ACCEPTANCE_FAILED");
    let broken = cli.call(["validate", "result", "-", "--assignment", "b.json"]).stdin("{}").run();
    assert_eq!(broken.status.code(), Some(2));
}

#[test]
fn every_kind_that_is_json_has_a_schema() {
    let cli = cli();
    let listed = cli.run(["schema", "list", "--output", "json"]);
    let listed = answer(&listed.stdout);
    for kind in listed["kinds"].as_array().unwrap() {
        let shown = cli.run(["schema", "show", kind["kind"].as_str().unwrap()]);
        assert_eq!(shown.status.code() == Some(0), kind["schema"] == true, "{kind}");
        if kind["schema"] == true {
            assert_eq!(answer(&shown.stdout)["$schema"], "https://json-schema.org/draft/2020-12/schema");
        }
    }
    assert_eq!(cli.run(["schema", "show", "nothing"]).status.code(), Some(1));
}

#[test]
fn a_conversion_says_what_it_lost() {
    let cli = cli();
    let output = cli.call(["convert", "--to", "assignment", "--output", "json"]).stdin(TASK).run();
    let made = answer(&output.stdout);
    assert_eq!((output.status.code(), &made["allow"]), (Some(0), &json!(true)), "{}", output.stdout);
    let lost = made["details"]["lost"].as_array().unwrap();
    assert!(lost.iter().any(|lost| lost["path"] == "$.target.model"), "{lost:?}");
    let judged = cli.call(["validate", "assignment"]).stdin(made["document"].to_string()).run();
    assert_eq!(judged.status.code(), Some(0), "{}", judged.stdout);
    let text = cli.call(["convert", "--to", "aee", "--output", "text"]).stdin(TASK).run();
    assert_eq!(answer(&text.stdout)["intent"], "writ.run.task");
    assert_eq!(cli.call(["convert", "--to", "locks"]).stdin(TASK).run().status.code(), Some(1));
}

#[test]
fn the_kit_judges_another_program_that_is_this_one() {
    let cli = cli();
    let this = format!("'{}' conformance answer", env!("CARGO_BIN_EXE_writ"));
    let words = ["conformance", "run", &format!("{OPERATOR}/valid"), "--command", &this];
    let output = cli.run(words);
    assert!(output.stdout.ends_with(" passed, 0 failed\n"), "{}", output.stdout);
    let wrong =
        ["conformance", "run", &format!("{OPERATOR}/valid"), "--command", "echo '{\"allow\": false}'"];
    let output = cli.run(wrong);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("0 passed"), "{}", output.stdout);
}

#[test]
fn a_program_that_does_not_answer_fails_its_case() {
    let cli = cli();
    let vector = json!({"cases": [{"from": "todo", "to": "done", "legal": false}]});
    std::fs::create_dir(cli.project().join("vectors")).unwrap();
    std::fs::write(cli.project().join("vectors/t.json"), vector.to_string()).unwrap();
    let words = ["conformance", "run", "vectors", "--timeout", "1", "--command", "sleep 60"];
    let output = cli.run(words);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("did not end within 1s"), "{}", output.stdout);
}

#[test]
fn what_is_too_large_to_be_read_whole_is_not_given_a_size_it_does_not_have() {
    let cli = cli();
    let huge = " ".repeat(17 * 1024 * 1024);
    for kind in ["aop", "aee", "worklog"] {
        let said = answer(&cli.call(["validate", kind]).stdin(huge.as_str()).run().stdout);
        let reason = said["reason"].as_str().unwrap();
        assert!(reason.contains("more than 16777216 bytes"), "{kind}: {reason}");
    }
}

#[test]
fn a_conversion_without_a_target_says_which_word_is_missing() {
    let output = cli().call(["convert"]).stdin("{}").run();
    let said = answer(&output.stdout);
    assert_eq!((output.status.code(), &said["allow"]), (Some(2), &json!(false)));
    assert!(said["reason"].as_str().unwrap().contains("--to <KIND>"), "{said}");
}
