//! A worker is killed in the middle of a task; its run goes on in an empty store elsewhere, another worker finishes,
//! and nothing that was done is done again.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};
use testkit::{Cli, Signal, eventually, process};

use crate::documents::opened;

const PLAN: &str = r#"
objective = "Three tasks of two steps each"
workspace = "."

[[task]]
id = "one"
title = "The first"
command = ["true"]
writes = ["out/T-1"]
checks_may_change = true
[[task.checks]]
command = ["grep", "-qx", "b", "out/T-1/effects"]

[[task]]
id = "two"
title = "The second"
command = ["true"]
writes = ["out/T-2"]
checks_may_change = true
depends_on = ["one"]
[[task.checks]]
command = ["grep", "-qx", "b", "out/T-2/effects"]

[[task]]
id = "three"
title = "The third"
command = ["true"]
writes = ["out/T-3"]
checks_may_change = true
depends_on = ["two"]
[[task.checks]]
command = ["grep", "-qx", "b", "out/T-3/effects"]
"#;

/// Takes two steps, each with an effect that is counted, and writes each down. What is written down was done, and
/// before it does anything it asks whether its token is still good.
const WORKER: &str = r#"
set -eu
writ=$1 run=$2 task=$3 token=$4 stop=${5:-never}
mkdir -p "out/$task"
for step in a b; do
    if "$writ" worklog show --run "$run" --task "$task" | grep -q "\"action\":\"step $step\""; then continue; fi
    "$writ" heartbeat --run "$run" --task "$task" --token "$token" > ../worker.json
    echo "$step" >> "out/$task/effects"
    printf '{"action": "step %s", "files_touched": [], "decision": "go on", "result": "done",
        "next_step": "what follows %s"}' "$step" "$step" |
        "$writ" worklog append --run "$run" --task "$task" --token "$token" --request-id "$task $step" > ../worker.json
    if [ "$step" = "$stop" ]; then
        echo here > ../stopped
        while :; do sleep 1; done
    fi
done
printf '{"schema_version": "1.0.0", "run_id": "%s", "task_id": "%s", "status": "done", "changes": [{"resource":
 "out/%s/effects", "action": "edit"}], "acceptance_check": [{"criterion": "`grep -qx b out/%s/effects` gives EXIT_CODE_0",
 "status": "pass", "evidence": "both steps"}], "worklog_path": "worklogs/%s.jsonl", "notes_for_orchestrator": ["done"],
 "x_token": "%s"}' "$run" "$task" "$task" "$task" "$task" "$token" > ../result.json
"$writ" result submit ../result.json --strict --request-id "result $task ${token%%-*}"
"#;

/// A shell on the machine of `cli`.
fn shell(cli: &Cli) -> Cli {
    Cli::new("/bin/sh").env("WRIT_DB", cli.db())
}

fn worker<'w>(shell: &'w Cli, cli: &Cli, words: &[&str]) -> testkit::Call<'w> {
    let program = env!("CARGO_BIN_EXE_writ");
    let words: Vec<&str> = ["-c", WORKER, "worker", program].iter().chain(words).copied().collect();
    shell.call(words).in_dir(cli.project())
}

fn issue(cli: &Cli, run: &str, task: &str) -> String {
    let issued =
        cli.run(["assignment", "issue", "--run", run, "--task", task, "--owner", "w"]).success().json();
    issued["data"]["token"].as_str().unwrap().to_owned()
}

/// The steps that were taken, in their order.
fn effects(cli: &Cli, task: &str) -> String {
    cli.scratch().read(cli.project().join(format!("out/{task}/effects"))).replace('\n', " ")
}

fn statuses(cli: &Cli, run: &str) -> Vec<String> {
    let shown = cli.run(["ledger", "show", run]).success().json()["data"].clone();
    let rows = shown["ledger"].as_array().unwrap();
    rows.iter().map(|row| format!("{} {}", row["status"].as_str().unwrap(), row["x_evidence"])).collect()
}

/// A run whose first task is done, and whose second one's worker was killed after its first step.
fn killed_in_the_middle() -> (Cli, String) {
    let cli = Cli::writ();
    let run = opened(&cli, PLAN);
    let shell = shell(&cli);
    let token = issue(&cli, &run, "T-1");
    worker(&shell, &cli, &[&run, "T-1", &token]).run().success();
    let token = issue(&cli, &run, "T-2");
    let background = worker(&shell, &cli, &[&run, "T-2", &token, "a"]).spawn();
    eventually("the worker takes its first step", || cli.scratch().join("stopped").exists());
    process::signal_group(background.pid(), Signal::KILL);
    assert_eq!(background.wait().status.signal(), Some(Signal::KILL.as_raw()));
    assert_eq!(effects(&cli, "T-2"), "a ");
    (cli, run)
}

/// Another machine: its own store, and a copy of the files.
fn elsewhere(cli: &Cli) -> Cli {
    let other = Cli::writ();
    let (from, to) = (cli.project().join("."), other.project());
    Cli::new("/bin/cp").run(["-r".as_ref(), from.as_os_str(), to.as_os_str()]).success();
    other
}

fn replanned(run: &str) -> String {
    let delta = |status: &str, reason: &str| json!({"task_id": "T-2", "status": status, "owner": "", "reason": reason, "delta_id": format!("T-2 {status}")});
    let blocker = json!({"task_id": "T-2", "code": "TASK_TIMEOUT", "reason": "its worker was killed"});
    json!({
        "schema_version": "1.0.0", "run_id": run,
        "ledger_delta": [delta("blocked", "its worker was killed"), delta("todo", "another goes on")],
        "assignments": [], "active_locks": [], "blockers": [blocker], "next_actions": [],
    })
    .to_string()
}

#[test]
fn another_worker_elsewhere_finishes_what_a_killed_one_began_and_nothing_is_done_twice() {
    let (cli, run) = killed_in_the_middle();
    let bundle = cli.run(["handoff", "export", &run]).success().stdout.clone();
    let judged = cli.call(["validate", "handoff", "--strict"]).stdin(bundle.clone()).run().success().json();
    assert_eq!(judged["allow"], true);
    let other = elsewhere(&cli);
    drop(cli);

    let take = |id: &str| other.call(["handoff", "import", "--request-id", id]).stdin(bundle.clone()).run();
    let taken = take("take").success().json()["data"].clone();
    let dead = taken["tasks"][1]["token"].as_str().unwrap().to_owned();
    assert_eq!((&taken["created"], dead.starts_with("2-")), (&json!(true), true));
    assert_eq!(taken["tasks"][2]["checks"], json!(["grep -qx b out/T-3/effects"]));
    assert_eq!(take("take").success().json()["data"], taken);
    assert_eq!(other.run(["handoff", "export", &run]).success().stdout, bundle);
    let file = other.scratch().write(other.project().join("bundle.json"), &bundle);
    let words = ["handoff", "brief", "--output", "text", file.to_str().unwrap()];
    let told = other.run(words).success().stdout.clone();
    assert!(told.contains("step a: done") && told.contains("to be read and not obeyed"), "{told}");

    // The new orchestrator takes the task back from the dead worker and gives it to another.
    other.call(["ledger", "apply"]).stdin(replanned(&run)).run().success();
    let token = issue(&other, &run, "T-2");
    assert!(token.starts_with("3-"), "{token}");
    let shell = shell(&other);
    worker(&shell, &other, &[&run, "T-2", &dead]).run().fails_with(1);
    assert_eq!(
        effects(&other, "T-2"),
        "a ",
        "a dead worker that comes back is told so before it does anything"
    );
    worker(&shell, &other, &[&run, "T-2", &token]).run().success();
    let result = other.scratch().read(other.scratch().join("result.json")).replace(&token, &dead);
    let stale = other.call(["result", "submit"]).stdin(result).run();
    assert_eq!(stale.fails_with(1).json()["error_code"], "CONCURRENCY_CONFLICT");
    let token = issue(&other, &run, "T-3");
    worker(&shell, &other, &[&run, "T-3", &token]).run().success();

    for task in ["T-1", "T-2", "T-3"] {
        assert_eq!(effects(&other, task), "a b ", "each step of {task} was taken once");
        other.run(["worklog", "verify", "--run", &run, "--task", task]).success();
    }
    assert_eq!(statuses(&other, &run), [r#"done "verified""#; 3]);
    other.run(["ledger", "close", &run]).success();
    other.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_bundle_is_refused_if_the_run_has_moved_on_or_the_bundle_was_changed() {
    let (cli, run) = killed_in_the_middle();
    let file = cli.project().join("bundle.json");
    let path = file.to_str().unwrap();
    let written = cli.run(["handoff", "export", &run, path]).success().json()["data"].clone();
    cli.run(["handoff", "export", &run, path]).fails_with(1);
    let import = |cli: &Cli, words: &[&str]| cli.run([&["handoff", "import", path], words].concat());
    assert_eq!(import(&cli, &[]).success().json()["data"]["created"], false);
    let again = import(&cli, &[]).success().json();
    let token = again["data"]["tasks"][1]["token"].as_str().unwrap();
    cli.run(["heartbeat", "--run", &run, "--task", "T-2", "--token", token]).success();
    let conflict = import(&cli, &[]).fails_with(1).json();
    assert_eq!(conflict["error_code"], "CONCURRENCY_CONFLICT");

    let other = elsewhere(&cli);
    let digest = written["digest"].as_str().unwrap();
    let wrong = import(&other, &["--digest", "sha256:0"]).fails_with(1).json();
    assert_eq!(wrong["error_code"], "NON_COMPLIANT");
    let mut changed: Value = serde_json::from_str(&cli.scratch().read(&file)).unwrap();
    changed["ledger"][1]["lock_scope"] = json!(["../outside"]);
    let refused = other.call(["handoff", "import"]).stdin(changed.to_string()).run().fails_with(1).json();
    assert_eq!(refused["error_code"], "SCOPE_VIOLATION");
    other.run(["ledger", "show", &run]).fails_with(1);
    import(&other, &["--digest", digest]).success();
    assert_eq!(statuses(&other, &run), [r#"done "verified""#, "in_progress null", "todo null"]);
    other.run(["audit", "verify", "--replay"]).success();
}
