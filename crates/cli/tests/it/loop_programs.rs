//! How `writ loop` calls the agent programs it knows, and how it judges what they leave behind. The programs are fakes
//! with the right names.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::writ;

/// Notes how it was called: arguments, standard input and variables.
const RECORD: &str = "for word; do echo \"<$word>\"; done > argv\ncat > stdin\nenv > variables\n";

/// A runner of `writ` with these programs in front of its `PATH`.
fn with_programs(names: &[&str], script: &str) -> Cli {
    let cli = writ();
    for name in names {
        let path = cli.scratch().write(format!("bin/{name}"), format!("#!/bin/sh\n{RECORD}{script}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "the fakes need a shell")]
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(cli.scratch().join("bin")).chain(std::env::split_paths(&machine));
    let path = std::env::join_paths(path.collect::<Vec<PathBuf>>()).unwrap();
    cli.env("PATH", path)
}

#[track_caller]
fn data(output: &Output) -> Value {
    output.success().json()["data"].clone()
}

fn created(cli: &Cli, more: &[&str]) -> String {
    let project = cli.project();
    let words = ["task", "create", "--title", "Paint the fence", "--agent", "eve", "--request-id", "make"];
    let words = words.iter().copied().chain(["--project-id", project.to_str().unwrap()]);
    data(&cli.run(words.chain(more.iter().copied())))["task"]["id"].as_str().unwrap().to_owned()
}

fn looped(cli: &Cli, command: &str, more: &[&str]) -> Output {
    let project = cli.project();
    let words = ["loop", "--cooldown", "0", "--max-fails", "1", "--output", "json", "--project-dir"];
    let words = words.iter().copied().chain([project.to_str().unwrap(), "--command", command]);
    cli.run(words.chain(more.iter().copied()))
}

fn task(cli: &Cli, id: &str) -> Value {
    data(&cli.run(["task", "get", "--id", id, "--output", "json"]))
}

fn noted(cli: &Cli, file: &str) -> String {
    std::fs::read_to_string(cli.project().join(file)).unwrap()
}

fn argv(cli: &Cli) -> Vec<String> {
    noted(cli, "argv").lines().map(|line| line[1..line.len() - 1].to_owned()).collect()
}

#[test]
fn each_program_gets_its_own_headless_call_and_the_context_on_standard_input() {
    let tools = "Bash,Bash(writ:*),Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,TodoWrite,Write";
    for (command, expected) in [
        (
            "claude",
            format!(
                "-p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools {tools} --add-dir DIR"
            ),
        ),
        (
            "codex",
            "exec --json -s workspace-write --skip-git-repo-check --add-dir DIR -c allow_login_shell=false -"
                .to_owned(),
        ),
        ("gemini", "-o stream-json --approval-mode yolo --include-directories DIR".to_owned()),
        ("opencode", "run --format json --auto".to_owned()),
        (
            "env X=1 gemini -m pro",
            "-m pro -o stream-json --approval-mode yolo --include-directories DIR".to_owned(),
        ),
    ] {
        let cli = with_programs(&["claude", "codex", "gemini", "opencode"], "touch proof");
        let id = created(&cli, &["--check", "test -e proof"]);
        let report = data(&looped(&cli, command, &[]));
        assert_eq!(report["results"][0]["status"], "completed", "{command}: {report}");
        let store = cli.db().parent().unwrap().to_str().unwrap().to_owned();
        assert_eq!(argv(&cli).join(" "), expected.replace("DIR", &store), "{command}");
        let stdin = noted(&cli, "stdin");
        assert!(
            stdin.contains("Paint the fence") && stdin.contains("nobody can answer"),
            "{command}: {stdin}"
        );
        let variables = noted(&cli, "variables");
        for line in [
            format!("WRIT_TASK={id}"),
            "WRIT_OUTPUT=json".to_owned(),
            format!("WRIT_DB={}", cli.db().display()),
        ] {
            assert!(variables.lines().any(|known| known == line), "{command}: {line}");
        }
        assert!(variables.lines().any(|line| line.starts_with("WRIT_AGENT=loop-")), "{command}: {variables}");
        // The loop is not the author of the checks.
        let done = task(&cli, &id);
        assert_eq!(
            (&done["status"], &done["evidence"]),
            (&json!("completed"), &json!("verified")),
            "{command}"
        );
    }
}

#[test]
fn a_program_behind_a_path_is_recognized() {
    let cli = with_programs(&["codex"], "touch proof");
    created(&cli, &["--check", "test -e proof"]);
    let path = cli.scratch().join("bin/codex");
    data(&looped(&cli, path.to_str().unwrap(), &[]));
    assert_eq!(argv(&cli)[0], "exec");
}

#[test]
fn any_other_program_gets_a_file_or_standard_input() {
    let cli = with_programs(&["my-agent"], "cp \"$2\" prompt 2>/dev/null; touch proof");
    let id = created(&cli, &["--check", "test -e proof"]);
    data(&looped(&cli, "my-agent --file {prompt_file} --task={task_id} {project}", &[]));
    let words = argv(&cli);
    assert_eq!((words[0].as_str(), &words[2]), ("--file", &format!("--task={id}")));
    assert_eq!(words[3], cli.project().to_str().unwrap());
    assert!(noted(&cli, "prompt").contains("Paint the fence"));
    assert_eq!(noted(&cli, "stdin"), "", "the context is in the file alone");
    let cli = with_programs(&["my-agent"], "touch proof");
    created(&cli, &["--check", "test -e proof"]);
    data(&looped(&cli, "my-agent 'two words'", &[]));
    assert_eq!(argv(&cli), ["two words"]);
    assert!(noted(&cli, "stdin").contains("Paint the fence"));
}

#[test]
fn a_task_without_checks_that_was_left_open_is_blocked_with_the_reason() {
    let cli = with_programs(
        &["claude"],
        r#"echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I give up"}]}}'; exit 3"#,
    );
    let id = created(&cli, &[]);
    let output = looped(&cli, "claude", &[]);
    assert_eq!(data(&output)["results"][0]["status"], "blocked");
    assert!(output.stderr.contains("  I give up\n"), "the stream is shown as text: {output}");
    let blocked = task(&cli, &id);
    let reason = "failure:agent exited without completing, with exit code 3; its last line: I give up";
    assert_eq!((&blocked["status"], &blocked["blocked_reason"]), (&json!("blocked"), &json!(reason)));
}

#[test]
fn a_program_that_exits_well_proves_nothing() {
    let cli = with_programs(&["claude"], "exit 0");
    let id = created(&cli, &["--check-shell", "echo 'fence is still brown'; exit 1"]);
    assert_eq!(data(&looped(&cli, "claude", &[]))["results"][0]["status"], "blocked");
    let reason = task(&cli, &id)["blocked_reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("exit 1, expected 0\nfence is still brown"), "{reason}");
}

#[test]
fn the_next_attempt_is_told_why_the_last_one_failed() {
    let cli = with_programs(&["claude"], "grep -q 'not painted' stdin && touch proof; true");
    let id = created(&cli, &["--check-shell", "test -e proof || { echo not painted; exit 1; }"]);
    let report = data(&looped(&cli, "claude", &["--attempts", "2"]));
    assert_eq!((&report["total"], &report["results"][0]["status"]), (&json!(1), &json!("completed")));
    assert_eq!(task(&cli, &id)["evidence"], "verified");
}

#[test]
fn a_program_that_is_not_installed_is_one_error_and_nothing_is_claimed() {
    let cli = with_programs(&[], "");
    let id = created(&cli, &[]);
    for command in ["no-such-agent", "env X=1 /nowhere/claude", "/nowhere/codex"] {
        let refused = looped(&cli, command, &[]).fails_with(1).json();
        assert_eq!(refused["error_code"], "IO", "{refused}");
    }
    data(&cli.run(["task", "begin", "--id", &id, "--agent", "bob", "--request-id", "b", "--output", "json"]));
    let refused = looped(&cli, "claude && true", &[]).fails_with(1).json();
    assert!(refused["error"].as_str().unwrap().contains("only a shell understands"), "{refused}");
}

#[test]
fn a_dry_run_shows_the_exact_call_and_writes_nothing() {
    let cli = with_programs(&["codex"], "");
    let id = created(&cli, &[]);
    let before = std::fs::read(cli.db()).unwrap();
    let report = data(&looped(&cli, "codex -m gpt", &["--dry-run"]));
    let store = cli.db().parent().unwrap().to_str().unwrap().to_owned();
    let expected = [
        "codex",
        "exec",
        "--json",
        "-s",
        "workspace-write",
        "--skip-git-repo-check",
        "--add-dir",
        &store,
        "-c",
        "allow_login_shell=false",
        "-m",
        "gpt",
        "-",
    ];
    assert_eq!(
        (&report["results"][0]["task_id"], &report["results"][0]["argv"]),
        (&json!(id), &json!(expected))
    );
    assert_eq!(std::fs::read(cli.db()).unwrap(), before);
    let text = looped(&cli, "codex", &["--dry-run", "--output", "text"]).success().stdout.clone();
    assert!(text.contains("would start: codex exec --json"), "{text}");
    assert!(!cli.project().join("argv").exists());
}

#[test]
fn an_agent_that_closes_its_task_is_believed_only_if_the_checks_agree() {
    let writ = env!("CARGO_BIN_EXE_writ");
    let close =
        format!("{writ} task complete --id $WRIT_TASK --outcome done --summary done --request-id d >&2");
    let cli = with_programs(&["claude"], &close);
    let id = created(&cli, &["--check", "test -e proof"]);
    assert_eq!(data(&looped(&cli, "claude", &[]))["results"][0]["status"], "blocked");
    assert_eq!(task(&cli, &id)["status"], "blocked");
    let cli = with_programs(&["claude"], &close);
    created(&cli, &[]);
    assert_eq!(data(&looped(&cli, "claude", &[]))["results"][0]["status"], "completed");
}
