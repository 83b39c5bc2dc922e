//! The inputs of a TASK: there and readable before it starts, and unchanged afterwards where they are read-only.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{aop, writ};
use crate::read_back::work;
use crate::sandbox::has_sandbox;

fn told(cli: &Cli, script: &str, sandbox: &str, fields: Value) -> String {
    let mut task = aop(cli, script);
    task["task"]["extensions"]["x_sandbox"] = json!(sandbox);
    task["task"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let worked = work(cli, &task);
    let code = worked.task("T-1")["code"].as_str().unwrap_or("-").to_owned();
    format!("{} {code} {}", worked.status("T-1"), worked.reason("T-1"))
}

fn inputs(path: &str) -> Value {
    json!({"inputs": [{"type": "FILE", "path": path, "read_only": true}]})
}

#[test]
fn a_missing_input_is_refused_before_anything_runs() {
    let cli = writ();
    let script = "write ran.txt x; aop-success";
    let expected = "failed E_FILE_NOT_FOUND E_FILE_NOT_FOUND: the input `in.txt` does not exist";
    assert_eq!(told(&cli, script, "off", inputs("in.txt")), expected);
    assert!(!cli.project().join("ran.txt").exists());
    cli.scratch().write("project/in.txt", "x");
    assert_eq!(told(&cli, script, "off", inputs("in.txt")), "done claimed - ");
    let absolute = cli.project().join("in.txt");
    assert_eq!(told(&cli, script, "off", inputs(absolute.to_str().unwrap())), "done claimed - ");
}

#[test]
fn content_that_a_task_brings_along_needs_no_file() {
    let cli = writ();
    let inline = json!({"inputs": [{"type": "TEXT", "content": "x", "path": "none.txt"}]});
    assert_eq!(told(&cli, "aop-success", "off", inline), "done claimed - ");
}

#[test]
fn an_input_that_is_read_only_must_stay_as_it_is() {
    let cli = writ();
    cli.scratch().write("project/in.txt", "x");
    let script = "write in.txt changed; aop-success";
    let expected = "failed E_PERMISSION_DENIED E_PERMISSION_DENIED: read-only inputs were changed: `in.txt`";
    assert_eq!(told(&cli, script, "off", inputs("in.txt")), expected);
    // It is read-only unless the TASK says otherwise.
    cli.scratch().write("project/in.txt", "x");
    assert_eq!(told(&cli, script, "off", json!({"inputs": [{"type": "FILE", "path": "in.txt"}]})), expected);
    let open = json!({"inputs": [{"type": "FILE", "path": "in.txt", "read_only": false}]});
    assert_eq!(told(&cli, script, "off", open), "done claimed - ");
}

#[test]
fn an_input_that_is_an_output_too_may_change() {
    let cli = writ();
    cli.scratch().write("project/in.txt", "x");
    let both = json!({
        "inputs": [{"type": "FILE", "path": "in.txt", "read_only": true}],
        "expected_outputs": [{"type": "FILE", "path": cli.project().join("in.txt"), "description": "d"}],
    });
    assert_eq!(told(&cli, "write in.txt changed; aop-success", "prefer", both), "done verified - ");
}

#[test]
fn a_sandbox_keeps_a_read_only_input_from_being_written() {
    if !has_sandbox(&writ()) {
        return;
    }
    let cli = writ();
    cli.scratch().write("project/in.txt", "x");
    let mut task = aop(&cli, "");
    task["task"]["extensions"] = json!({
        "x_sandbox": "enforce",
        "x_command": ["sh", "-c", "echo changed > in.txt; echo more > other.txt; exec \"$0\" aop-success",
            crate::documents::agent()],
    });
    task["task"]["inputs"] = json!([{"type": "FILE", "path": "in.txt"}]);
    let worked = work(&cli, &task).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    assert_eq!(cli.scratch().read("project/in.txt"), "x");
    assert_eq!(cli.scratch().read("project/other.txt"), "more\n");
}
