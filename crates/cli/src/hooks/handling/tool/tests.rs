use serde_json::json;

use super::*;

fn failed(output: &str, exit_code: Option<i64>) -> ToolOutcome<'_> {
    ToolOutcome::Failed { output, exit_code, is_interrupt: false }
}

#[test]
fn messages_say_what_happened() {
    let root = Some("/srv/fence");
    let bash = ToolCall::command("Bash", Some("cargo test"));
    let edit = ToolCall::file("Edit", Some("/srv/fence/src/parser.rs"));
    for (call, outcome, expected) in [
        (&edit, ToolOutcome::Succeeded, "Edit: src/parser.rs"),
        (&ToolCall::file("Write", Some("/etc/hosts")), ToolOutcome::Succeeded, "Write: /etc/hosts"),
        (
            &ToolCall::file("Write", Some("/srv/fence/../other/a")),
            ToolOutcome::Succeeded,
            "Write: /srv/fence/../other/a",
        ),
        (&ToolCall::file("Write", Some("src/a.rs")), ToolOutcome::Succeeded, "Write: src/a.rs"),
        (&bash, ToolOutcome::Succeeded, "Bash: cargo test"),
        (&bash, failed("", Some(1)), "Bash failed (exit 1): cargo test"),
        (&bash, failed("", None), "Bash failed: cargo test"),
        (
            &bash,
            failed("running\nerror: 1 test failed\n", Some(101)),
            "Bash failed (exit 101): cargo test (error: 1 test failed)",
        ),
        (
            &edit,
            failed("String to replace not found in file.", None),
            "Edit failed: src/parser.rs (String to replace not found in file.)",
        ),
        (
            &ToolCall::files("Patch", vec!["a".into(), "/srv/fence/b".into()]),
            ToolOutcome::Succeeded,
            "Patch: a, b",
        ),
        (
            &ToolCall::unknown("Task", &json!({"description": "look around"})),
            ToolOutcome::Succeeded,
            "Task: look around",
        ),
        (&ToolCall::unknown("Odd", &json!({})), ToolOutcome::Succeeded, "Odd succeeded"),
        (&ToolCall::unknown("Odd", &json!(null)), failed("", None), "Odd failed"),
    ] {
        assert_eq!(call.message(outcome, root), expected);
    }
    let interrupted = ToolOutcome::Failed { output: "stopped", exit_code: None, is_interrupt: true };
    assert_eq!(bash.message(interrupted, root), "Bash interrupted: cargo test");
    assert_eq!(edit.message(ToolOutcome::Succeeded, None), "Edit: /srv/fence/src/parser.rs");
}

#[test]
fn messages_and_metadata_are_bounded() {
    let long = "ü".repeat(100_000);
    let input = json!({ "command": long });
    let bash = ToolCall::command(&long, Some(&long));
    let message = bash.message(failed(&long, Some(1)), None);
    assert!(message.chars().count() < 500, "{}", message.len());
    let metadata = bash.metadata(Some(&input), failed(&long, Some(1)), None);
    assert_eq!(
        (metadata["input"].as_str().unwrap().len(), metadata["output"].as_str().unwrap().len()),
        (2048, 4096)
    );
    assert_eq!(metadata["exit_code"], 1);
    let files = ToolCall::files("Patch", (0..500).map(|n| format!("f{n}")).collect());
    assert!(files.message(ToolOutcome::Succeeded, None).ends_with("f9 and 490 more"));
    assert_eq!(files.metadata(None, ToolOutcome::Succeeded, None)["files"].as_array().unwrap().len(), 10);
}

#[test]
fn exit_codes_are_found_in_what_tools_say() {
    for (error, code, rest) in [
        ("Exit code 3\nhello\noops", Some(3), "hello\noops"),
        ("exit 1", Some(1), ""),
        ("Command failed with exit code 127", Some(127), "Command failed with exit code 127"),
        ("exit status 2", Some(2), ""),
        ("File does not exist.", None, "File does not exist."),
        ("", None, ""),
    ] {
        assert_eq!((exit_code_of(error), without_exit_line(error)), (code, rest), "{error}");
    }
}
