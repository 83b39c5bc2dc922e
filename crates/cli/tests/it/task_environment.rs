//! What a TASK says about its environment, compared with this machine.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{aop, with, writ};
use crate::read_back::work;

/// The status, the code and the reason of a TASK with this environment.
fn told(cli: &Cli, environment: Value) -> String {
    let mut task = aop(cli, "write ran.txt x; aop-success");
    task["task"]["environment"] = with(task["task"]["environment"].take(), environment);
    outcome(cli, &task)
}

fn outcome(cli: &Cli, task: &Value) -> String {
    let worked = work(cli, task);
    let code = worked.task("T-1")["code"].as_str().unwrap_or("-").to_owned();
    format!("{} {code} {}", worked.status("T-1"), worked.reason("T-1"))
}

fn has_run(cli: &Cli) -> bool {
    cli.project().join("ran.txt").exists()
}

#[test]
fn a_task_for_another_system_is_refused_before_anything_runs() {
    let cli = writ();
    let here = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let refused = told(&cli, json!({"os": "win32"}));
    assert!(refused.starts_with("failed E_AGENT_NOT_FOUND E_AGENT_NOT_FOUND: "), "{refused}");
    assert!(refused.contains("task.environment.os is `win32`"), "{refused}");
    assert!(!has_run(&cli));
    assert_eq!(told(&cli, json!({"os": here})), "done claimed - ");
    assert!(has_run(&cli));
}

#[test]
fn the_shell_of_a_task_runs_its_validations() {
    let cli = writ();
    let with_shell = |shell: &str, command: &str| {
        let mut task = aop(&cli, "write out.txt x; aop-success");
        task["task"]["environment"]["shell"] = json!(shell);
        task["task"]["expected_outputs"] = json!([{"type": "FILE", "path": "out.txt", "description": "d",
            "validation": {"command": command, "expects": "EXIT_CODE_0"}}]);
        task
    };
    // Only bash has this syntax.
    let bashism = "[[ -e out.txt ]] && test -n \"$BASH_VERSION\"";
    assert_eq!(outcome(&cli, &with_shell("bash", bashism)), "done verified - ");
    assert!(outcome(&cli, &with_shell("sh", "test -n \"$BASH_VERSION\"")).starts_with("failed "));
    assert_eq!(outcome(&cli, &with_shell("sh", "test -e out.txt && true")), "done verified - ");
}

#[test]
fn a_shell_that_is_not_installed_is_refused_before_anything_runs() {
    let cli = writ();
    let refused = told(&cli, json!({"shell": "no-such-shell"}));
    let expected = "failed E_AGENT_NOT_FOUND E_AGENT_NOT_FOUND: the shell `no-such-shell` of task.environment.shell is \
                    not installed";
    assert_eq!(refused, expected);
    assert!(!has_run(&cli));
}

#[test]
fn a_policy_against_shells_holds_for_every_shell_of_a_task() {
    let cli = writ();
    cli.scratch().write("home/.config/writ/config.toml", "[policy]\ndeny_shell = true\n");
    let mut task = aop(&cli, "aop-success");
    task["task"]["environment"]["shell"] = json!("bash");
    task["task"]["expected_outputs"] = json!([{"type": "TEXT", "description": "d",
        "validation": {"command": "true", "expects": "EXIT_CODE_0"}}]);
    assert!(
        work(&cli, &task).failed().result["reason"].as_str().unwrap().contains("policy.deny_shell is set")
    );
}

#[expect(clippy::disallowed_methods, reason = "the test needs a repository")]
fn init(cli: &Cli, branch: &str) {
    let words = ["init", "--quiet", "--initial-branch", branch];
    let done = std::process::Command::new("git").args(words).current_dir(cli.project()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_task_runs_only_on_its_branch() {
    let cli = writ();
    let on = |branch: &str| told(&cli, json!({"git_branch": branch}));
    let refused = on("feature/x");
    assert!(refused.starts_with("failed E_DEPENDENCY_FAILED E_DEPENDENCY_FAILED: "), "{refused}");
    assert!(!has_run(&cli));
    init(&cli, "feature/x");
    assert_eq!(on("feature/x"), "done claimed - ");
    let other = on("main");
    assert!(
        other.contains("task.environment.git_branch is `main`, and `feature/x` is checked out"),
        "{other}"
    );
}

#[test]
fn a_target_that_needs_a_person_is_refused() {
    let cli = writ();
    let mut task = aop(&cli, "write ran.txt x; aop-success");
    task["target"]["capabilities"] = json!({"headless_mode": false, "network_access": "FULL"});
    let refused = outcome(&cli, &task);
    assert!(
        refused.starts_with("failed E_AGENT_NOT_FOUND E_AGENT_NOT_FOUND: the target needs a person"),
        "{refused}"
    );
    assert!(!has_run(&cli));
    task["target"]["capabilities"]["headless_mode"] = json!(true);
    assert_eq!(outcome(&cli, &task), "done claimed - ");
}

#[test]
fn fields_that_change_nothing_are_named_in_answer_and_trace() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["orchestration_metadata"] = json!({"initiator": "ann"});
    task["task"]["inputs"] = json!([{"type": "FILE"}]);
    let worked = work(&cli, &task).succeeded();
    let named: Vec<&str> = worked.result["without_effect"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field.as_str().unwrap())
        .collect();
    for field in [
        "$.target.role",
        "$.task.category",
        "$.task.complexity",
        "$.orchestration_metadata",
        "$.task.inputs[0]",
    ] {
        assert!(named.iter().any(|told| told.starts_with(&format!("{field}: "))), "{field} in {named:?}");
    }
    let traced = worked.decisions("L0");
    assert!(traced.iter().any(|told| told.starts_with("NO_EFFECT: $.task.category: ")), "{traced:?}");
}
