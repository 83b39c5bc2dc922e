//! What every answer of the agent contract has in common.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::writ;

/// A runner that acts as the agent `ann`.
pub(crate) fn ann() -> Cli {
    writ().env("WRIT_AGENT", "ann")
}

/// The data of an answer, which must be one line with one envelope and nothing else.
#[track_caller]
pub(crate) fn data(output: &Output) -> Value {
    let envelope = output.success().json();
    assert_eq!((output.stdout.lines().count(), output.stderr.as_str()), (1, ""), "{output}");
    assert_eq!(envelope, json!({"schema_version": "v1", "success": true, "data": envelope["data"]}));
    envelope["data"].clone()
}

/// The error of a refusal, which must be one line with one envelope and exit code 1.
#[track_caller]
pub(crate) fn error(output: &Output) -> Value {
    let envelope = output.fails_with(1).json();
    assert_eq!((output.stdout.lines().count(), output.stderr.as_str()), (1, ""), "{output}");
    assert_eq!((&envelope["schema_version"], &envelope["success"]), (&json!("v1"), &json!(false)));
    assert!(envelope["error"].is_string() && envelope["error_code"].is_string(), "{output}");
    assert!(envelope["retry"].is_string() && envelope.get("data").is_none(), "{output}");
    envelope
}

/// The code and the words of a refusal.
#[track_caller]
pub(crate) fn refusal(output: &Output) -> (String, String) {
    let envelope = error(output);
    let text = |name: &str| envelope[name].as_str().unwrap_or_default().to_owned();
    (text("error_code"), text("error"))
}

/// A call under a request id.
pub(crate) fn asked(cli: &Cli, request: &str, words: &[&str]) -> Output {
    cli.run(words.iter().chain(&["--request-id", request]))
}

/// The id of a new task.
pub(crate) fn task(cli: &Cli, title: &str) -> String {
    let made = data(&asked(cli, &format!("make {title}"), &["task", "create", "--title", title]));
    made["task"]["id"].as_str().unwrap().to_owned()
}

/// Every event, oldest first.
pub(crate) fn events(cli: &Cli) -> Vec<Value> {
    let list = data(&cli.run(["events", "list", "--all", "--asc", "--limit", "1000"]));
    list["events"].as_array().unwrap().clone()
}
