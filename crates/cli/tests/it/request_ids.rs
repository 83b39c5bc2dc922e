//! The same request id gives the same answer and runs nothing twice.

use testkit::{Cli, Output, eventually};

use crate::run_view::{RunView, all_gone, audit_is_clean, file, run_id, write_plan};

/// Two tasks that leave a line each time they run, and the second one's exit code.
fn plan(exit: i32) -> String {
    format!(
        r#"
objective = "Two lines"
workspace = "."

[[task]]
id = "one"
title = "First"
command = "echo one >> one.txt"
shell = true
writes = ["one.txt"]
retry_safe = true

[[task.checks]]
command = ["test", "-s", "one.txt"]

[[task]]
id = "two"
title = "Second"
command = "echo two >> two.txt; exit {exit}"
shell = true
writes = ["two.txt"]
depends_on = ["one"]
"#
    )
}

const WORDS: [&str; 6] = ["run", "plan.toml", "--output", "json", "--request-id", "req-1"];

#[track_caller]
fn each_ran_once(cli: &Cli) {
    assert_eq!((file(cli, "one.txt").as_str(), file(cli, "two.txt").as_str()), ("one\n", "two\n"));
    let run = RunView::only(cli).unwrap();
    assert!(run.tasks.values().all(|task| task.attempts.len() == 1), "{run:?}");
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    audit_is_clean(cli);
}

fn answer(output: &Output) -> (Option<i32>, &str) {
    (output.status.code(), &output.stdout)
}

#[test]
fn a_repeated_run_gets_the_stored_answer() {
    for exit in [0, 3] {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        write_plan(&cli, &plan(exit));
        let first = cli.run(WORDS);
        let data = &first.json()["data"];
        assert_eq!(data["state"], if exit == 0 { "done" } else { "failed" });
        assert_eq!(first.status.code(), Some(i32::from(exit != 0)), "{first}");
        for _ in 0..2 {
            assert_eq!(answer(&first), answer(&cli.run(WORDS)));
        }
        // The id may come in the environment as well.
        let quietly =
            cli.call(["run", "plan.toml", "--output", "json"]).env("WRIT_REQUEST_ID", "req-1").run();
        assert_eq!(answer(&first), answer(&quietly));
        each_ran_once(&cli);
    }
}

#[test]
fn many_at_once_share_one_run() {
    for exit in [0, 3] {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        write_plan(&cli, &plan(exit));
        // There is no store yet: they make it together, too.
        let all: Vec<_> = (0..8).map(|_| cli.spawn(WORDS)).collect();
        let outputs: Vec<Output> = all.into_iter().map(|writ| writ.wait()).collect();
        assert_eq!(outputs[0].status.code(), Some(i32::from(exit != 0)), "{}", outputs[0]);
        for other in &outputs {
            assert_eq!(answer(&outputs[0]), answer(other), "{other}");
        }
        each_ran_once(&cli);
    }
}

#[test]
fn an_id_belongs_to_one_document() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &plan(0));
    let first = cli.run(WORDS);
    first.success();
    write_plan(&cli, &plan(0).replace("echo one", "echo three"));
    let refused = cli.run(WORDS);
    refused.fails_with(1);
    let error = refused.json();
    assert_eq!((&error["success"], &error["error_code"]), (&false.into(), &"IDEMPOTENCY_KEY_REUSED".into()));
    each_ran_once(&cli);
    // Another operation under the same id is another request as well.
    let cancel =
        cli.run(["cancel", &RunView::only(&cli).unwrap().id, "--output", "json", "--request-id", "req-1"]);
    cancel.fails_with(1);
    assert_eq!(cancel.json()["error_code"], "IDEMPOTENCY_KEY_REUSED");
    write_plan(&cli, &plan(0));
    assert_eq!(answer(&first), answer(&cli.run(WORDS)));
}

#[test]
fn a_refused_request_leaves_its_id_usable() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, "objective = \"Nothing\"\n");
    cli.run(WORDS).fails_with(1);
    write_plan(&cli, &plan(0));
    cli.run(WORDS).success();
    each_ran_once(&cli);
}

#[test]
fn agents_do_not_share_their_ids() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &plan(0));
    let by = |agent: &str| cli.run(WORDS.iter().copied().chain(["--agent", agent]));
    let (ada, bob) = (by("ada"), by("bob"));
    ada.success();
    bob.success();
    assert_ne!(ada.json()["data"]["run_id"], bob.json()["data"]["run_id"]);
    assert_eq!(file(&cli, "two.txt"), "two\ntwo\n");
    assert_eq!(answer(&ada), answer(&by("ada")));
    assert_eq!(answer(&bob), answer(&by("bob")));
    assert_eq!(file(&cli, "two.txt"), "two\ntwo\n");
}

#[test]
fn the_same_id_finishes_what_a_killed_writ_began() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let slow = "echo two >> two.txt; touch begun; until [ -e go ]; do sleep 0.01; done; exit 0";
    let text = plan(0).replace("echo two >> two.txt; exit 0", slow) + "retry_safe = true\n";
    write_plan(&cli, &text);
    let first = cli.spawn(WORDS);
    eventually("the second task has begun", || cli.project().join("begun").exists());
    let run = run_id(&first);
    drop(first.kill_nine());
    all_gone(&cli);
    std::fs::write(cli.project().join("go"), "").unwrap();
    let second = cli.run(WORDS);
    second.success();
    assert_eq!(second.json()["data"]["run_id"], run.as_str());
    assert_eq!(answer(&second), answer(&cli.run(WORDS)));
    let view = RunView::only(&cli).unwrap();
    assert_eq!(view.task("one").attempts(), ["succeeded"]);
    assert_eq!(view.task("two").attempts(), ["interrupted", "succeeded"]);
    // What the killed attempt had written was taken back before the next one.
    assert_eq!((file(&cli, "one.txt").as_str(), file(&cli, "two.txt").as_str()), ("one\n", "two\n"));
    audit_is_clean(&cli);
}

#[test]
fn a_writ_that_waits_for_a_killed_one_takes_its_place() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let slow = "echo two >> two.txt; touch begun; until [ -e go ]; do sleep 0.01; done; exit 0";
    write_plan(&cli, &(plan(0).replace("echo two >> two.txt; exit 0", slow) + "retry_safe = true\n"));
    let first = cli.spawn(WORDS);
    eventually("the second task has begun", || cli.project().join("begun").exists());
    let others: Vec<_> = (0..3).map(|_| cli.spawn(WORDS)).collect();
    for other in &others {
        eventually("it waits", || other.stderr().contains("another writ works this run"));
    }
    drop(first.kill_nine());
    std::fs::write(cli.project().join("go"), "").unwrap();
    let outputs: Vec<Output> = others.into_iter().map(|other| other.wait()).collect();
    for output in &outputs {
        output.success();
        assert_eq!(answer(&outputs[0]), answer(output));
    }
    assert_eq!(RunView::only(&cli).unwrap().task("two").attempts(), ["interrupted", "succeeded"]);
    all_gone(&cli);
    audit_is_clean(&cli);
}
