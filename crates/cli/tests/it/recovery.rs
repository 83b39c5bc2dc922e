//! What becomes of a task whose engine was killed, and of its files: verified, run again from the snapshot, or parked.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use contract::domain::limits;
use serde_json::{Value, json};
use testkit::{Cli, Signal, eventually};

use crate::decisions;
use crate::documents::{agent, aop, plan, shell, with, writ};
use crate::read_back::trace;
use crate::run_view::{RunView, all_gone, audit_is_clean, file, run_id};

/// The first time it edits, says that it has begun and waits; each time it writes down what it found.
const EDITS: &str = "cat src/a >> seen; ls src >> seen; echo half > src/a; echo new > src/b; touch begun; \
                     test -e go || sleep 600; echo whole > src/a";

fn project() -> Cli {
    let cli = writ();
    cli.scratch().write("project/src/a", "before\n");
    cli
}

/// A task of a plan with a scope, which is killed in the middle of its first attempt.
fn editing(more: Value) -> Value {
    let task = with(shell("edit", EDITS), json!({"writes": ["src"], "scratch": ["seen", "begun", "go"]}));
    plan([with(task, more)])
}

/// The same as an AOP TASK.
fn speaking(cli: &Cli, extensions: Value) -> Value {
    let mut task = aop(cli, "");
    let line = format!("task=$(cat); {EDITS}; printf '%s' \"$task\" | \"$0\" aop-success");
    let command = json!({"x_command": ["sh", "-c", line, agent()], "x_sandbox": "off"});
    task["task"]["extensions"] = with(command, extensions);
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["src"]}});
    task
}

/// Submits the document and kills its engine when the task has begun.
#[track_caller]
fn die_in_the_middle(cli: &Cli, document: &Value) -> String {
    cli.scratch().write("project/document.json", document.to_string());
    let engine = cli.spawn(["run", "document.json"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&engine);
    drop(engine.kill_nine());
    all_gone(cli);
    fs::write(cli.project().join("go"), "").unwrap();
    run
}

/// The decision about the only task, as the trace has it.
#[track_caller]
fn decided(cli: &Cli, run: &str) -> Value {
    let found = trace(cli, run).into_iter().filter(|envelope| envelope["intent"] == "writ.recovery");
    let found: Vec<Value> = found.map(|envelope| envelope["payload"].clone()).collect();
    assert_eq!(found.len(), 1, "one decision is made: {found:?}");
    found[0].clone()
}

/// The trace and `runs show` say the same.
#[track_caller]
fn says(cli: &Cli, run: &str, decision: &str, restored: Value, words: &[&str]) {
    let said = decided(cli, run);
    assert_eq!((&said["decision"], &said["restored"]), (&json!(decision), &restored), "{said}");
    let reason = said["reason"].as_str().unwrap();
    let shown = cli.run(["runs", "show", run, "--output", "text"]).success().stdout.clone();
    assert!(shown.contains(&format!("{decision}: {reason}")), "{reason} is not in\n{shown}");
    for word in words {
        assert!(reason.contains(word), "no `{word}` in `{reason}`");
    }
}

#[test]
fn a_retry_safe_task_runs_again_with_the_files_that_it_had_before() {
    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({"retry_safe": true})));
    assert_eq!((file(&cli, "src/a").as_str(), file(&cli, "src/b").as_str()), ("half\n", "new\n"));
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nbefore\na\n", "both attempts found the same files");
    assert_eq!((file(&cli, "src/a").as_str(), file(&cli, "src/b").as_str()), ("whole\n", "new\n"));
    let words = ["it has no checks", "the plan says that it may run again", "2 paths restored"];
    says(&cli, &run, "rerun", json!(2), &words);
    assert_eq!(RunView::of(&cli, &run).task("edit").attempts(), ["interrupted", "succeeded"]);
    audit_is_clean(&cli);
}

#[test]
fn an_aop_task_that_is_retry_safe_runs_again_with_the_files_that_it_had_before() {
    let cli = project();
    let run = die_in_the_middle(&cli, &speaking(&cli, json!({"x_retry_safe": true})));
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nbefore\na\n");
    assert_eq!(file(&cli, "src/a"), "whole\n");
    says(&cli, &run, "rerun", json!(2), &["2 paths restored"]);
    audit_is_clean(&cli);
}

#[test]
fn what_is_verified_or_parked_keeps_its_files() {
    let checks = |word: &str| json!({"checks": [{"command": ["grep", "-q", word, "src/a"]}]});
    let cases = [
        (
            with(checks("half"), json!({"retry_safe": true})),
            "verified",
            "its checks pass, so it had finished",
        ),
        (checks("half"), "verified", "its checks pass, so it had finished"),
        (checks("whole"), "parked", "its checks do not pass; the plan does not say that it may run again"),
        (json!({}), "parked", "it has no checks that show whether it is done"),
    ];
    for (more, decision, reason) in cases {
        let cli = project();
        let run = die_in_the_middle(&cli, &editing(more));
        let status = cli.run(["run", "--continue", &run]).status.code();
        assert_eq!(status, Some(i32::from(decision == "parked")));
        assert_eq!((file(&cli, "src/a").as_str(), file(&cli, "src/b").as_str()), ("half\n", "new\n"));
        assert_eq!(file(&cli, "seen"), "before\na\n", "it did not run again");
        says(&cli, &run, decision, Value::Null, &[reason]);
    }
}

#[test]
fn an_aop_task_is_verified_by_its_outputs_or_parked() {
    for (path, decision) in [("src/b", "verified"), ("src/c", "parked")] {
        let cli = project();
        let mut task = speaking(&cli, json!({}));
        task["task"]["expected_outputs"] = json!([{"type": "FILE", "path": path, "description": "it"}]);
        let run = die_in_the_middle(&cli, &task);
        let status = cli.run(["run", "--continue", &run]).status.code();
        assert_eq!(status, Some(i32::from(decision == "parked")));
        assert_eq!(file(&cli, "src/a"), "half\n");
        says(&cli, &run, decision, Value::Null, &[]);
        audit_is_clean(&cli);
    }
}

#[test]
fn a_later_edit_of_a_person_is_kept_and_the_task_is_parked() {
    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({"retry_safe": true})));
    let died = Instant::now();
    // Until then it could have been the task itself, by all that is known.
    eventually("the engine is silent", || died.elapsed() > limits::ENGINE_SILENCE_MAX);
    fs::write(cli.project().join("src/a"), "mine\n").unwrap();
    cli.run(["run", "--continue", &run]).fails_with(1);
    assert_eq!(file(&cli, "src/a"), "mine\n");
    let words = ["not taken back completely", "src/a: it was changed after the engine had died"];
    says(&cli, &run, "parked", json!(1), &words);
    let view = RunView::of(&cli, &run);
    assert_eq!((view.statuses(), view.task("edit").attempts()), (vec!["blocked"], vec!["unknown"]));
    // The person looked at it.
    cli.run(["run", "--continue", &run, "--rerun-parked"]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nmine\na\n");
    audit_is_clean(&cli);
}

#[test]
fn where_nothing_was_kept_it_runs_again_and_the_trace_says_so() {
    let cli = project();
    let task = with(shell("edit", EDITS), json!({"retry_safe": true}));
    let run = die_in_the_middle(&cli, &plan([task]));
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nhalf\na\nb\n");
    says(&cli, &run, "rerun", Value::Null, &["nothing could be restored: it declares no `writes`"]);

    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({"retry_safe": true})));
    let snapshots = cli.db().with_file_name("writ.db.snapshots");
    for entry in fs::read_dir(&snapshots).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "before") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    cli.run(["run", "--continue", &run]).success();
    let words = ["nothing could be restored: no snapshot of its files was kept"];
    says(&cli, &run, "rerun", Value::Null, &words);
}

#[test]
fn a_task_that_was_stopped_by_a_signal_runs_again_with_the_files_that_it_had_before() {
    let cli = project();
    let document = editing(json!({"retry_safe": true}));
    cli.scratch().write("project/document.json", document.to_string());
    let engine = cli.spawn(["run", "document.json"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&engine);
    engine.signal(Signal::INT);
    engine.wait().fails_with(130);
    fs::write(cli.project().join("go"), "").unwrap();
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nbefore\na\n");
    assert_eq!(decided(&cli, &run)["restored"], json!(2));
}

#[test]
fn an_ordinary_retry_sees_what_the_failed_attempt_left() {
    let cli = project();
    let line = "cat src/a >> seen; echo half > src/a; test -e failed || { touch failed; exit 1; }";
    let task = with(
        shell("edit", line),
        json!({"writes": ["src"], "scratch": ["seen", "failed"], "retries": 1, "retry_safe": true}),
    );
    cli.call(["run", "-"]).stdin(plan([task]).to_string()).run().success();
    assert_eq!(file(&cli, "seen"), "before\nhalf\n");
}

/// A repository whose task works in a clone.
fn repository(cli: &Cli) {
    let git = |words: &[&str]| {
        let name = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        cli.call(name.iter().chain(words)).program("git").run().success().stdout.clone()
    };
    git(&["init", "-q", "-b", "main"]);
    cli.scratch().write("project/.gitignore", "meet\ndocument.json\nbegun\ngo\nseen\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "first"]);
}

/// What a task does in a clone, with the workspace as the place where its attempts meet.
const COMMITS: &str = "cd $WRIT_WORKTREE; w=$WRIT_WORKSPACE; cat src/a >> $w/seen; ls src >> $w/seen; \
                       git log --format=%s >> $w/seen; git status --short >> $w/seen; ";

#[test]
fn a_clone_has_the_files_and_the_branch_that_it_had_before() {
    let cli = project();
    repository(&cli);
    let line = format!(
        "{COMMITS} echo half > src/a; git add src; git commit -q -m half; echo new > src/b; git add src/b; \
         touch $w/begun; test -e $w/go || sleep 600; rm -f src/b; echo whole > src/a"
    );
    let more = json!({"retry_safe": true, "sandbox": "off", "isolation": "worktree", "writes": ["src"]});
    let run = die_in_the_middle(&cli, &plan([with(shell("edit", &line), more)]));
    cli.run(["run", "--continue", &run]).success();
    assert_eq!(file(&cli, "seen"), "before\na\nfirst\nbefore\na\nfirst\n");
    assert_eq!(file(&cli, "src/a"), "whole\n", "its work was merged");
    says(&cli, &run, "rerun", json!(2), &["2 files of its clone"]);
    audit_is_clean(&cli);
}

#[test]
fn a_clone_keeps_what_earlier_attempts_left() {
    let cli = project();
    repository(&cli);
    // The first attempt fails, the second is killed, the third ends.
    let line = format!(
        "{COMMITS} test -e src/first || {{ echo 1 > src/first; exit 1; }}; echo half > src/second; touch $w/begun; \
         test -e $w/go || sleep 600"
    );
    let more = json!({
        "retry_safe": true, "retries": 1, "sandbox": "off", "isolation": "worktree", "writes": ["src"],
    });
    let run = die_in_the_middle(&cli, &plan([with(shell("edit", &line), more)]));
    cli.run(["run", "--continue", &run]).success();
    let seen = file(&cli, "seen");
    assert_eq!(seen.matches("second").count(), 0, "{seen}");
    assert_eq!(seen.lines().filter(|line| *line == "first").count(), 5, "{seen}");
    assert_eq!((file(&cli, "src/first").as_str(), file(&cli, "src/second").as_str()), ("1\n", "half\n"));
    says(&cli, &run, "rerun", json!(1), &["1 file of its clone"]);
    assert_eq!(RunView::of(&cli, &run).task("edit").attempts(), ["failed", "interrupted", "succeeded"]);
}

#[test]
fn a_run_that_is_canceled_after_its_engine_died_can_be_rolled_back_and_redone() {
    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({})));
    for words in [&["rollback", "edit"][..], &["rollback", "edit", "--preview"]] {
        let refused = cli.run([words, &["--output", "json"]].concat()).fails_with(1).json();
        let (said, next) = (refused["error"].to_string(), refused["suggested_action"].to_string());
        assert!(said.contains("was interrupted") && !said.contains("is being worked on"), "{refused}");
        assert!(next.contains(&format!("writ run --continue {run}")), "{refused}");
    }
    let retried = cli.run(["retry", "edit", "--no-run", "--output", "json"]).fails_with(1).json();
    assert!(retried.to_string().contains(&format!("writ run --continue {run}")), "{retried}");
    cli.run(["cancel", &run]).success();
    let preview = cli.run(["rollback", "edit", "--preview", "--output", "text"]).success().stdout.clone();
    assert!(preview.contains("restore   src/a") && preview.contains("remove    src/b"), "{preview}");
    cli.run(["rollback", "edit"]).success();
    assert_eq!(file(&cli, "src/a"), "before\n");
    assert!(!cli.project().join("src/b").exists());
    cli.run(["rollback", "edit", "--redo"]).success();
    assert_eq!((file(&cli, "src/a"), file(&cli, "src/b")), ("half\n".to_owned(), "new\n".to_owned()));
    audit_is_clean(&cli);
}

#[test]
fn what_a_person_edited_between_the_end_of_an_engine_and_the_cancel_stays() {
    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({})));
    let died = Instant::now();
    eventually("the engine is silent", || died.elapsed() > limits::ENGINE_SILENCE_MAX);
    fs::write(cli.project().join("src/a"), "mine\n").unwrap();
    cli.run(["cancel", &run]).success();
    let rolled = cli.run(["rollback", "edit", "--output", "text"]).fails_with(1).stdout.clone();
    assert!(rolled.contains("src/a: it was changed after the engine had died"), "{rolled}");
    assert_eq!(file(&cli, "src/a"), "mine\n");
    assert!(!cli.project().join("src/b").exists());
}

#[test]
fn a_run_that_was_halted_and_canceled_can_be_rolled_back() {
    let cli = project().env("WRIT_AGENT", "ann");
    let person = decisions::token(&cli);
    cli.scratch().write("project/document.json", editing(json!({})).to_string());
    let engine = cli.spawn(["run", "document.json"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&engine);
    cli.call(["halt", "--reason", "enough"]).env("WRIT_TOKEN", &person).run().success();
    drop(engine);
    let doctor = cli.run(["doctor", "--output", "text"]).stdout.clone();
    assert!(
        doctor.contains("warn halt") && doctor.contains("enough; lift it with `writ resume-all`"),
        "{doctor}"
    );
    cli.run(["cancel", &run]).success();
    cli.call(["resume-all"]).env("WRIT_TOKEN", &person).run().success();
    assert!(!cli.run(["doctor", "--output", "text"]).stdout.contains("halt"));
    cli.run(["rollback", "edit"]).success();
    assert_eq!(file(&cli, "src/a"), "before\n");
    assert!(!cli.project().join("src/b").exists());
}

#[test]
fn a_task_that_is_canceled_after_its_engine_died_can_be_rolled_back_when_its_run_was_continued() {
    let cli = project();
    let run = die_in_the_middle(&cli, &editing(json!({})));
    cli.run(["cancel", "edit"]).success();
    let refused = cli.run(["rollback", "edit", "--output", "json"]).fails_with(1).stdout.clone();
    assert!(refused.contains(&format!("writ run --continue {run}")), "{refused}");
    drop(cli.run(["run", "--continue", &run]));
    cli.run(["rollback", "edit"]).success();
    assert_eq!(file(&cli, "src/a"), "before\n");
}

/// What a killed engine can leave of a task in a sandbox.
fn leave_private(cli: &Cli, task: &str) -> PathBuf {
    let root = PathBuf::from(format!("{}.sandbox", cli.db().display()));
    let left = root.join(&task[task.len() - 12..]);
    fs::create_dir_all(left.join("home/.cache")).unwrap();
    left
}

#[test]
fn private_directories_of_ended_tasks_go_when_their_run_goes_on_and_with_gc() {
    let cli = project();
    let first = shell("first", "true");
    let second = with(shell("second", EDITS), json!({"depends_on": ["first"], "retry_safe": true}));
    let run = die_in_the_middle(&cli, &plan([first, second]));
    let shown = cli.run(["runs", "show", &run, "--output", "json"]).success().json();
    let id = |at: usize| shown["data"]["tasks"][at]["id"].as_str().unwrap();
    let left = leave_private(&cli, id(0));
    // Until its run has ended, gc leaves it alone.
    cli.run(["gc"]).success();
    assert!(left.exists());
    cli.run(["run", "--continue", &run]).success();
    assert!(!left.exists());
    let (left, other) = (leave_private(&cli, id(1)), leave_private(&cli, "task_000000000000000000"));
    cli.run(["gc", "--dry-run"]).success();
    assert!(left.exists());
    cli.run(["gc"]).success();
    assert!(!left.exists() && other.exists());
}
