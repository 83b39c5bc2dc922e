//! The kill switch: when `writ halt` returns, nothing that writ started is left, and nothing of it can be written.

use serde_json::{Value, json};
use testkit::{Background, Cli, Output, Signal, eventually, process};

use crate::bad_stores::sqlite;
use crate::decisions;
use crate::documents::opened;
use crate::run_view::{RunView, all_gone, audit_is_clean, file, run_id};

/// A task that ignores SIGTERM and has children in sessions of their own, until `NAME-go` exists.
fn stubborn(name: &str, namespace: &str) -> String {
    format!(
        r#"
objective = "Wait"
sandbox = "off"
workspace = "."

[[task]]
id = "{name}"
command = """
trap '' TERM HUP
(setsid sh -c "trap '' TERM; sleep 600" &)
(env -i setsid sleep 600 &)
echo begun >> {name}.txt
until [ -e {name}-go ]; do sleep 0.02; done
echo done >> {name}.txt
"""
shell = true
retry_safe = true
namespace = "{namespace}"
"#
    )
}

fn working<'c>(cli: &'c Cli, name: &str, namespace: &str) -> (Background<'c>, String) {
    cli.scratch().write(format!("project/{name}.toml"), stubborn(name, namespace));
    let writ = cli.spawn(["run", &format!("{name}.toml")]);
    eventually("the task has begun", || !file(cli, &format!("{name}.txt")).is_empty());
    let run = run_id(&writ);
    (writ, run)
}

fn json_of(cli: &Cli, words: &[&str]) -> Value {
    cli.run([words, &["--output", "json"]].concat()).json()
}

#[track_caller]
fn is_refused(output: &Output) {
    let said = output.fails_with(1).json();
    assert_eq!(said["error_code"], "HALTED", "{output}");
    assert!(said["suggested_action"].as_str().unwrap().contains("writ resume-all"), "{output}");
}

#[test]
fn a_halt_ends_engines_loops_and_workers_with_everything_that_they_started() {
    let cli = Cli::writ().env("WRIT_AGENT", "ann");
    let person = decisions::token(&cli);
    let (alive, one) = working(&cli, "one", "on");
    let (stopped, two) = working(&cli, "two", "off");
    process::signal(stopped.pid(), Signal::STOP);
    // A loop with an agent program, and one that waits between two tasks.
    for title in ["first", "second"] {
        cli.run(["task", "create", "--title", title, "--request-id", title]).success();
    }
    let looped = ["loop", "--max-tasks", "1", "--command", "sh -c 'echo at work > loop.txt; sleep 600'"];
    let looping = cli.spawn(looped);
    eventually("the loop works", || !file(&cli, "loop.txt").is_empty());
    let idle = ["loop", "--cooldown", "10m", "--max-fails", "0", "--command", "true", "--project-dir", "."];
    let project = cli.project();
    for title in ["third", "fourth"] {
        let words = ["task", "create", "--title", title, "--request-id", title, "--project-id"];
        cli.run(words.iter().copied().chain([project.to_str().unwrap()])).success();
    }
    let waiting = cli.spawn(idle);
    eventually("the loop waits", || waiting.stderr().contains("task_"));
    let ledger = opened(
        &cli,
        "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"a\"]\n",
    );
    let script = "echo at work > worker.txt; trap '' TERM; sleep 600; sleep 600";
    let worker = cli.spawn(["worker", "run", "--run", &ledger, "--owner", "w1", "--", "sh", "-c", script]);
    eventually("the worker works", || !file(&cli, "worker.txt").is_empty());
    let pids = [alive.pid(), stopped.pid(), looping.pid(), waiting.pid(), worker.pid()];

    let halted =
        cli.call(["halt", "--reason", "enough", "--output", "json"]).env("WRIT_TOKEN", &person).run();
    let answer = halted.success().json()["data"].clone();
    assert_eq!(answer["epoch"], 1, "{answer}");
    let mut ended: Vec<String> = Vec::new();
    for process in answer["processes"].as_array().unwrap() {
        assert_eq!(process["remains"], "gone", "{process}");
        ended.push(process["command"].as_str().unwrap().to_owned());
    }
    ended.sort();
    assert_eq!(ended, ["loop", "loop", "run", "run", "worker run"]);
    assert!(pids.iter().all(|pid| !process::is_running(*pid)), "{pids:?}");
    all_gone(&cli);
    drop((alive, stopped, looping, waiting, worker));
    audit_is_clean(&cli);

    let resumed = cli.call(["resume-all", "--output", "json"]).env("WRIT_TOKEN", &person).run();
    let mut listed: Vec<Value> = resumed.success().json()["data"]["interrupted"].as_array().unwrap().clone();
    listed.sort_by_key(ToString::to_string);
    let mut expected: Vec<Value> = [&one, &two]
        .map(|run| json!({"run_id": run, "command": format!("writ run --continue {run}")}))
        .to_vec();
    expected.sort_by_key(ToString::to_string);
    assert_eq!(listed, expected);
    for (run, name) in [(&one, "one"), (&two, "two")] {
        std::fs::write(cli.project().join(format!("{name}-go")), "").unwrap();
        cli.run(["run", "--continue", run]).success();
        assert_eq!(RunView::of(&cli, run).state, "done");
        assert_eq!(file(&cli, &format!("{name}.txt")), "begun\nbegun\ndone\n");
    }
    audit_is_clean(&cli);
}

#[test]
fn a_copy_of_the_store_neither_ends_the_originals_engine_nor_waits_for_it() {
    let cli = Cli::writ().env("WRIT_AGENT", "ann");
    let person = decisions::token(&cli);
    let (writ, run) = working(&cli, "one", "off");
    let copy = cli.scratch().join("copy.db");
    cli.run(["backup", copy.to_str().unwrap()]).success();
    let in_copy = |words: &[&str]| {
        let words = [words, &["--db-path", copy.to_str().unwrap(), "--output", "json"]].concat();
        cli.call(words).env("WRIT_TOKEN", &person).run()
    };
    let halted = in_copy(&["halt", "--reason", "enough"]).success().json();
    let remains: Vec<&Value> =
        halted["data"]["processes"].as_array().unwrap().iter().map(|process| &process["remains"]).collect();
    assert_eq!(remains, ["gone"], "{halted}");
    assert!(process::is_running(writ.pid()));
    in_copy(&["resume-all"]).success();
    std::fs::write(cli.project().join("one-go"), "").unwrap();
    in_copy(&["run", "--continue", &run]).success();
    writ.wait().success();
    assert_eq!(RunView::of(&cli, &run).state, "done");
    assert_eq!(file(&cli, "one.txt").matches("begun").count(), 2, "the copy ran the task itself");
    audit_is_clean(&cli);
}

#[test]
fn while_writ_is_halted_work_is_refused_and_reading_canceling_and_decisions_are_not() {
    let cli = Cli::writ().env("WRIT_AGENT", "ann");
    let person = decisions::token(&cli);
    let made = cli.run(["task", "create", "--title", "t", "--request-id", "t"]).success().json();
    let task = made["data"]["task"]["id"].as_str().unwrap().to_owned();
    cli.run(["task", "begin", "--id", &task, "--request-id", "b"]).success();
    let (writ, run) = working(&cli, "one", "on");
    let plan = "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"a\"]\n";
    let ledger = opened(&cli, plan);
    let halt = cli.call(["halt", "--reason", "enough", "--output", "json"]).env("WRIT_TOKEN", &person).run();
    assert_eq!(halt.success().json()["data"]["claims"], 1);
    drop(writ);

    let before = sqlite(&cli.db(), "SELECT count(*) FROM events");
    let words: &[&[&str]] = &[
        &["run", "one.toml"],
        &["run", "--continue", &run],
        &["retry", &run],
        &["loop", "--command", "true"],
        &["worker", "run", "--run", &ledger, "--owner", "w1", "--", "true"],
        &["resume", "--request-id", "r"],
        &["task", "create", "--title", "u", "--request-id", "u"],
        &["task", "begin", "--id", &task, "--request-id", "b2"],
        &["task", "complete", "--id", &task, "--outcome", "done", "--summary", "s", "--request-id", "c"],
        &["memory", "set", "--key", "k", "--value", "v", "--request-id", "m"],
        &["lock", "acquire", "--run", &ledger, "--task", "T-1", "a"],
        &["watchdog", "sweep"],
        &["approval", "request", "--run", &ledger, "--task", "T-1"],
    ];
    for words in words {
        is_refused(&cli.run([words, &["--output", "json"][..]].concat()));
    }
    assert_eq!(sqlite(&cli.db(), "SELECT count(*) FROM events"), before, "a refusal writes nothing");

    // A hooked session is told, and its hooks never fail it.
    let input = json!({"session_id": "s", "cwd": cli.project(), "hook_event_name": "X"}).to_string();
    for handler in ["session-start", "prompt", "tool-success", "session-end", "stop"] {
        let hook = cli.call(["hook", handler]).stdin(input.clone()).run();
        let said = format!("{}{}", hook.success().stdout, hook.stderr);
        let is_silent = handler == "tool-success" && said.is_empty();
        assert!(is_silent || said.contains("writ is halted: enough"), "{handler}: {hook}");
    }
    let status = json_of(&cli, &["status"]);
    assert_eq!(status["data"]["halted"]["reason"], "enough", "{status}");
    let shown = cli.run(["status", "--output", "text"]);
    assert!(shown.success().stdout.starts_with("HALTED   by service.token.t"), "{shown}");
    assert!(!shown.stdout.contains(&format!("running  {run}")), "{shown}");
    assert!(!shown.stdout.contains("--continue"), "it is refused for now: {shown}");
    for words in
        [&["runs", "list"][..], &["trace", &run], &["task", "list"], &["audit", "verify", "--replay"]]
    {
        cli.run(words).success();
    }
    cli.run(["backup", "copy.db"]).success();
    cli.run(["cancel", &run]).success();
    decide_with(&cli, &person, &["budget", "set", "--run", &ledger, "--cost", "1"]).success();

    decide_with(&cli, &person, &["resume-all"]).success();
    assert_eq!(json_of(&cli, &["status"])["data"]["halted"], Value::Null);
    // The claim from before is dead: another agent gets the task.
    cli.run(["task", "begin", "--id", &task, "--agent", "bob", "--request-id", "b3"]).success();
    let again = decide_with(&cli, &person, &["resume-all", "--output", "json"]);
    assert_eq!(again.fails_with(1).json()["error_code"], "WRONG_STATE");
    audit_is_clean(&cli);
}

#[track_caller]
fn decide_with(cli: &Cli, person: &str, words: &[&str]) -> Output {
    cli.call(words).env("WRIT_TOKEN", person).run()
}

#[test]
fn tokens_of_assignments_from_before_a_halt_stay_dead_when_it_is_lifted() {
    let cli = Cli::writ();
    let plan = "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"a\"]\n";
    let run = opened(&cli, plan);
    let words = ["assignment", "issue", "--run", &run, "--task", "T-1", "--owner", "w1"];
    let issued = cli.run(words).success().json();
    let token = issued["data"]["token"].as_str().unwrap().to_owned();
    let beat = |cli: &Cli| {
        cli.run(["heartbeat", "--run", &run, "--task", "T-1", "--token", &token, "--output", "json"])
    };
    beat(&cli).success();
    let person = decisions::token(&cli);
    decide_with(&cli, &person, &["halt"]).success();
    is_refused(&beat(&cli));
    decide_with(&cli, &person, &["resume-all"]).success();
    let said = beat(&cli).fails_with(1).json();
    assert_eq!(said["error_context"]["details"]["rule"], "token_dead", "{said}");
    // The sweep gives the task back.
    let swept = cli.run(["watchdog", "sweep"]).success().json();
    assert_eq!(swept["data"]["timed_out"][0]["task_id"], "T-1", "{swept}");
}

#[test]
fn an_engine_of_an_old_epoch_that_was_not_ended_is_refused_by_the_store() {
    let cli = Cli::writ();
    let (writ, run) = working(&cli, "one", "on");
    process::signal(writ.pid(), Signal::STOP);
    // What a halt on a machine from which this engine cannot be seen leaves, and its lifting.
    let row = "(1, 2, 0, NULL, 'human.ann', 0)";
    let columns = "id, number, is_halted, reason, decided_by, decided_at";
    sqlite(&cli.db(), &format!("INSERT INTO epoch ({columns}) VALUES {row}"));
    std::fs::write(cli.project().join("one-go"), "").unwrap();
    let before = sqlite(&cli.db(), "SELECT count(*) FROM events");
    process::signal(writ.pid(), Signal::CONT);
    let ended = writ.wait();
    ended.fails_with(1);
    assert!(ended.stderr.contains("writ was halted while this process worked"), "{ended}");
    assert_eq!(sqlite(&cli.db(), "SELECT count(*) FROM events"), before);
    assert_eq!(RunView::of(&cli, &run).task("one").attempts(), ["started"]);
    all_gone(&cli);
}
