//! A run whose engine was killed is not running, wherever its state is shown.

use testkit::{Background, Cli, eventually};

use crate::run_view::{all_gone, audit_is_clean, file, run_id, write_plan};

const PLAN: &str = r#"
objective = "Wait for a file"
workspace = "."

[[task]]
id = "waits"
command = "echo begun >> begun.txt; until [ -e go ]; do sleep 0.02; done"
shell = true
retry_safe = true
"#;

fn working(cli: &Cli) -> (Background<'_>, String) {
    write_plan(cli, PLAN);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || !file(cli, "begun.txt").is_empty());
    let run = run_id(&writ);
    (writ, run)
}

/// The state of the run in the list, in the status and where it is shown.
fn states(cli: &Cli, run: &str) -> [String; 3] {
    let json = |words: &[&str]| cli.run([words, &["--output", "json"]].concat()).success().json();
    let listed = json(&["runs", "list"])["data"]["runs"][0]["state"].as_str().unwrap().to_owned();
    let shown = json(&["runs", "show", run])["data"]["state"].as_str().unwrap().to_owned();
    let status = json(&["status"]);
    let runs = status["data"]["runs"].as_object().unwrap().clone();
    let has = |ids: &serde_json::Value| ids.as_array().unwrap().iter().any(|id| id == run);
    let found: Vec<String> = runs.into_iter().filter(|(_, ids)| has(ids)).map(|(state, _)| state).collect();
    [listed, shown, found.join(" ")]
}

#[test]
fn a_run_whose_engine_was_killed_is_interrupted_and_can_be_continued() {
    let cli = Cli::writ();
    let (writ, run) = working(&cli);
    assert_eq!(states(&cli, &run), ["running"; 3]);
    drop(writ.kill_nine());
    assert_eq!(states(&cli, &run), ["interrupted"; 3]);
    let count = |state: &str| {
        let words = ["runs", "list", "--state", state, "--output", "json"];
        cli.run(words).success().json()["data"]["count"].clone()
    };
    assert_eq!((count("running"), count("interrupted")), (0.into(), 1.into()));
    let hint = format!("writ run --continue {run}");
    for words in [&["status", "--output", "text"][..], &["runs", "list"], &["runs", "show", &run]] {
        let text = cli.run(words);
        assert!(text.success().stdout.contains(&hint), "{text}");
    }
    assert!(cli.run(["trace", &run]).success().stdout.contains("interrupted"));
    all_gone(&cli);
    std::fs::write(cli.project().join("go"), "").unwrap();
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(states(&cli, &run), ["done", "done", ""]);
    audit_is_clean(&cli);
}
