//! Each program completes a turn on the stub, and a session with hooks knows its task.

use serde_json::{Value, json};
use testkit::eventually;

use crate::lab::{Lab, Turn, script};

/// Writes a file with the program's shell tool and says one word.
#[track_caller]
fn completes_a_turn(run: fn(&Lab, &str) -> Turn, tool: &str, args: Value) {
    let lab = Lab::new();
    let turn = run(&lab, &script(json!([{"tool": tool, "args": args}, {"text": "FINISHED"}])));
    assert_eq!(turn.said(), "FINISHED");
    assert!(lab.cli.project().join("note").is_file(), "{}", turn.output);
    eventually("no process is left", || lab.cli.leftovers().is_empty());
}

#[test]
fn claude_completes_a_turn() {
    completes_a_turn(Lab::claude, "Bash", json!({"command": "touch note"}));
}

#[test]
fn codex_completes_a_turn() {
    completes_a_turn(Lab::codex, "exec_command", json!({"cmd": "touch note"}));
}

#[test]
fn gemini_completes_a_turn() {
    completes_a_turn(Lab::gemini, "run_shell_command", json!({"command": "touch note"}));
}

#[test]
fn opencode_completes_a_turn() {
    completes_a_turn(Lab::opencode, "bash", json!({"command": "touch note", "description": "make a note"}));
}

/// Has a task in the project of the lab.
fn lab_with_a_task() -> Lab {
    let lab = Lab::new();
    let project = lab.cli.project();
    let words = ["task", "create", "--title", "Paint the fence", "--agent", "p", "--request-id", "r"];
    lab.writ(words.iter().chain(&["--project-id", project.to_str().unwrap()])).success();
    lab.writ(["hook", "install", "--claude", "--opencode"]).success();
    lab
}

#[test]
fn a_session_of_claude_is_told_its_task_at_the_start() {
    let lab = lab_with_a_task();
    assert_eq!(lab.claude(&script(json!([{"grep": "Paint the f\\w+"}]))).said(), "GREP:Paint the fence");
    assert!(lab.told().contains("Paint the fence"));
}

#[test]
fn a_session_of_opencode_is_told_its_task_at_the_start() {
    let lab = lab_with_a_task();
    assert_eq!(lab.opencode(&script(json!([{"grep": "Paint the f\\w+"}]))).said(), "GREP:Paint the fence");
}

#[test]
fn a_prompt_without_a_script_gets_the_default_steps() {
    let lab = Lab::with_model(json!([{"text": "DEFAULT"}]));
    assert_eq!(lab.claude("hello").said(), "DEFAULT");
    assert!(lab.told().contains("hello"));
}
