//! A check that fails is shown wherever a person looks, with what to type next, and to the next attempt.

use serde_json::{Value, json};
use testkit::Cli;

use crate::run_view::{RunView, file, write_plan};

/// A task whose check prints more than is shown, something that a terminal would obey, and a secret.
const PLAN: &str = r#"
objective = "One check fails"
workspace = "."

[[task]]
id = "tests"
command = "printf '%s' \"$WRIT_BRIEF\" > brief-$(ls brief-* 2>/dev/null | wc -l).txt; echo worked"
shell = true
retries = 1

[[task.checks]]
command = "seq 1 40; printf '\\033[31mred\\033[0m\\n'; printf 'gh%s_%s\\n' p 0123456789abcdefghijABCDEFGHIJ012345 >&2; test -e fixed"
shell = true

[[task]]
id = "docs"
command = ["true"]
depends_on = ["tests"]
"#;

fn failed() -> (Cli, String) {
    let cli = Cli::writ();
    write_plan(&cli, PLAN);
    let output = cli.run(["run", "plan.toml"]);
    let text = output.fails_with(1).stdout.clone();
    (cli, text)
}

/// The commands below `next:`, without their comments.
fn next(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| *line != "next:").skip(1);
    let commands = lines.map_while(|line| line.strip_prefix("  writ "));
    let words = |line: &str| line.split('#').next().unwrap().split_whitespace().map(str::to_owned).collect();
    commands.map(words).collect()
}

#[track_caller]
fn shows_the_check(text: &str) {
    let (_, shown) = text.split_once("failed: exit 1, expected 0\n").unwrap_or_else(|| panic!("{text}"));
    assert!(shown.contains("| 40\n"), "the end of its output: {text}");
    assert!(!shown.contains("| 20\n"), "only the end of its output: {text}");
    assert!(shown.contains("| \\u001b[31mred\\u001b[0m\n"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("ghp_"), "{text}");
    assert!(!text.contains("CRASH"), "{text}");
}

#[test]
fn the_summary_of_a_run_shows_the_failed_check_and_the_next_commands() {
    let (cli, text) = failed();
    shows_the_check(&text);
    let next = next(&text);
    let verbs: Vec<&str> = next.iter().map(|words| words[0].as_str()).collect();
    assert_eq!(verbs, ["logs", "retry"], "{text}");
    let logs = cli.run(&next[0]);
    assert!(logs.success().stdout.starts_with("worked\n"), "{logs}");
    shows_the_check(&logs.stdout);
    std::fs::write(cli.project().join("fixed"), "").unwrap();
    let again = cli.run(&next[1]);
    assert!(again.success().stdout.contains("run done: 2 of 2 tasks done"), "{again}");
}

#[test]
fn the_run_its_logs_and_its_trace_show_the_failed_check() {
    let (cli, _) = failed();
    let run = RunView::only(&cli).unwrap();
    let shown = cli.run(["runs", "show", &run.id]);
    shows_the_check(&shown.success().stdout);
    for words in next(&shown.stdout) {
        assert_eq!(words[1], run.task("tests").id, "{shown}");
    }
    shows_the_check(&cli.run(["logs", &run.task("tests").id]).success().stdout);
    shows_the_check(&cli.run(["trace", &run.id]).success().stdout);
    let only = cli.run(["logs", &run.task("tests").id, "--stream", "stdout"]);
    assert_eq!(only.success().stdout, "worked\n");
    let document = cli.run(["logs", &run.task("tests").id, "--output", "json"]).success().json();
    let check = &document["data"]["failed_check"];
    assert_eq!((&check["exit_code"], &check["passed"]), (&json!(1), &json!(false)));
    assert!(check["output_tail"].as_str().unwrap().contains("39\n40\n"), "{check}");
}

#[test]
fn the_next_attempt_is_told_what_failed() {
    let (cli, _) = failed();
    assert!(!file(&cli, "brief-0.txt").contains("printed at its end"));
    let brief = file(&cli, "brief-1.txt");
    assert!(brief.contains("> attempt 1 failed: check `seq 1 40;"), "{brief}");
    assert!(brief.contains(">   40\n"), "{brief}");
    assert!(!brief.contains("ghp_"), "{brief}");
}

#[test]
fn programs_get_the_code_of_aop_and_the_rule() {
    let cli = Cli::writ();
    write_plan(
        &cli,
        "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\n\
         [[task.checks]]\ncommand = [\"false\"]\n[[task]]\nid = \"b\"\ncommand = \"exit 3\"\nshell = true\n",
    );
    let output = cli.run(["run", "plan.toml", "--output", "json"]);
    let document = output.fails_with(1).json();
    let tasks = document["data"]["tasks"].as_array().unwrap();
    let told = |task: &Value| [&task["code"], &task["rule"], &task["reason"]].map(Clone::clone);
    let check = "check `false` failed: exit 1, expected 0";
    assert_eq!(told(&tasks[0]), [json!("E_UNKNOWN"), json!("check_failed"), json!(check)]);
    assert_eq!(told(&tasks[1]), [json!("E_PROCESS_CRASH"), Value::Null, json!("exit 3")]);
    assert_eq!(tasks[0]["failed_check"]["command"], json!(["false"]));
    assert_eq!(tasks[1]["failed_check"], Value::Null);
}
