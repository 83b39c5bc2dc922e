use serde_json::{Value, json};

use super::*;

fn task(environment: Value, more: Value) -> Task {
    let mut work = json!({
        "task_id": "T-1", "objective": "o", "category": "OTHER", "complexity": "LOW",
        "environment": environment,
    });
    work["environment"]["workspace_root"] = json!("/w");
    work.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "TASK",
        "session": {"session_id": "S", "created_at": "2026-01-01T12:00:00Z", "orchestrator": "o", "origin": "CLI"},
        "target": {"agent_name": "e", "role": "EXECUTOR", "provider": "OTHER", "model": "m"},
        "task": work,
    }))
    .unwrap()
}

fn here() -> MachineFacts {
    MachineFacts { os: "linux".to_owned(), has_shell: true, ..MachineFacts::default() }
}

fn told(task: &Task, found: &MachineFacts) -> String {
    let judged = judge(task, found);
    let unmet = judged.unmet.map(|unmet| format!("{} {}: {}", unmet.code, unmet.rule, unmet.reason));
    unmet.into_iter().chain(judged.warnings).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_system_has_several_names_and_another_one_is_refused_unless_its_paths_are_mapped() {
    for name in ["linux", "Linux"] {
        assert_eq!(told(&task(json!({"os": name}), json!({})), &here()), "");
    }
    let other = task(json!({"os": "win32"}), json!({}));
    let refused = "E_AGENT_NOT_FOUND os: task.environment.os is `win32`, and this machine is `linux`";
    assert_eq!(told(&other, &here()), refused);
    let mapped = MachineFacts { is_mapped: true, ..here() };
    let warned =
        "task.environment.os is `win32`, and this machine is `linux`; its paths are mapped, so it runs here";
    assert_eq!(told(&other, &mapped), warned);
    assert!(is_os("win32", "windows") && is_os("darwin", "macos") && !is_os("freebsd", "linux"));
}

#[test]
fn a_shell_that_is_not_installed_is_refused_and_one_of_another_machine_is_replaced() {
    let asked = task(json!({"shell": "powershell"}), json!({}));
    assert_eq!(told(&asked, &here()), "");
    let without = MachineFacts { has_shell: false, ..here() };
    let refused =
        "E_AGENT_NOT_FOUND shell: the shell `powershell` of task.environment.shell is not installed";
    assert_eq!(told(&asked, &without), refused);
    let mapped = MachineFacts { is_mapped: true, ..without };
    assert_eq!(
        told(&asked, &mapped),
        "the shell `powershell` of the TASK is of another machine; `sh` is used"
    );
}

#[test]
fn each_shell_gets_its_script_in_its_own_way() {
    let line = |shell: &str, mapped: bool| shell_command(shell, mapped, "a b").map(|words| words.join("|"));
    assert_eq!(line("sh", false), None);
    assert_eq!(line("bash", false).as_deref(), Some("bash|-c|a b"));
    assert_eq!(line("fish", true).as_deref(), Some("fish|-c|a b"));
    let pwsh = Some("pwsh|-NoProfile|-NonInteractive|-Command|a b");
    assert_eq!((line("pwsh", false).as_deref(), line("PowerShell.exe", false).as_deref()), (pwsh, pwsh));
    assert_eq!(line("cmd", false).as_deref(), Some("cmd|/C|a b"));
    assert_eq!((line("powershell", true), line("cmd", true)), (None, None));
}

#[test]
fn the_branch_must_be_the_one_that_is_checked_out() {
    let asked = task(json!({"git_branch": "main"}), json!({}));
    let on = |branch: Result<&str, &str>| {
        let branch = branch.map(str::to_owned).map_err(str::to_owned);
        told(&asked, &MachineFacts { branch: Some(branch), ..here() })
    };
    assert_eq!(on(Ok("main")), "");
    let other =
        "E_DEPENDENCY_FAILED git_branch: task.environment.git_branch is `main`, and `x` is checked out";
    assert_eq!(on(Ok("x")), other);
    let none =
        "E_DEPENDENCY_FAILED git_branch: task.environment.git_branch is `main`, and there is no repository";
    assert_eq!(on(Err("there is no repository")), none);
}

#[test]
fn inputs_must_exist_and_be_readable() {
    let asked = task(json!({}), json!({}));
    let with =
        |input: InputFound| told(&asked, &MachineFacts { inputs: vec![("a".to_owned(), input)], ..here() });
    assert_eq!(with(InputFound::Readable), "");
    let missing = "E_FILE_NOT_FOUND input_missing: the input `a` does not exist";
    assert_eq!(with(InputFound::Missing), missing);
    let closed = "E_PERMISSION_DENIED input_unreadable: the input `a` cannot be read: no";
    assert_eq!(with(InputFound::Unreadable("no".to_owned())), closed);
}

#[test]
fn read_only_inputs_are_kept_unless_they_are_outputs_too() {
    let file = |path: &str, read_only: Value| json!({"type": "FILE", "path": path, "read_only": read_only});
    let asked = task(
        json!({}),
        json!({
            "inputs": [
                file("a", json!(true)), file("/w/b", json!(true)), file("c", json!(false)),
                {"type": "file", "path": "d"}, {"type": "TEXT", "content": "x"}, {"type": "FILE"},
            ],
            "expected_outputs": [{"type": "FILE", "path": "b", "description": "d"}],
        }),
    );
    assert_eq!(kept_inputs(&asked), ["a", "d"]);
    assert_eq!(files(&asked).count(), 4);
}
