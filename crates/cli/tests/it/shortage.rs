//! The machine has too few descriptors or processes for all tasks of a run at once: they wait, and none fails.

use std::fs;
use std::io::Write;

use serde_json::json;
use testkit::{Background, Cli, eventually};

use crate::documents::{plan, shell, with, writ};
use crate::run_view::{RunView, file, write_plan};

/// Many tasks at once, each with a check. None ends before it has read a line from `gate`, and none starts another process.
fn crowd(cli: &Cli, tasks: usize) {
    let line = "echo x >> begun.txt; read line < gate; echo x >> ended.txt";
    let task = |number: usize| {
        with(shell(&format!("t{number:02}"), line), json!({"checks": [{"command": ["true"]}]}))
    };
    let document = with(plan((0..tasks).map(task)), json!({"workspace": ".", "max_parallel": tasks}));
    write_plan(cli, "");
    cli.scratch().write("project/plan.json", document.to_string());
    cli.call(["gate"]).program("mkfifo").run().success();
}

#[track_caller]
fn waits_and_then_does_all(cli: &Cli, writ: Background<'_>, (awaited, tasks): (&str, usize)) {
    eventually("a task waits", || writ.stderr().contains(awaited));
    // Open for reading too, so that it stays open between two readers.
    let mut gate = fs::OpenOptions::new().read(true).write(true).open(cli.project().join("gate")).unwrap();
    gate.write_all("\n".repeat(tasks).as_bytes()).unwrap();
    writ.wait().success();
    let view = RunView::only(cli).unwrap();
    assert_eq!(view.statuses(), vec!["done, verified"; tasks], "{view:?}");
    assert!(view.tasks.values().all(|task| task.attempts() == ["succeeded"]), "no attempt failed: {view:?}");
    assert_eq!(file(cli, "ended.txt").lines().count(), tasks, "each ran once");
}

#[test]
fn tasks_wait_for_descriptors_and_none_fails() {
    const TASKS: usize = 12;
    let cli = writ();
    crowd(&cli, TASKS);
    let script = "ulimit -n 40; exec \"$0\" run plan.json";
    let writ = cli.call(["-c", script, env!("CARGO_BIN_EXE_writ")]).program("sh").spawn();
    waits_and_then_does_all(&cli, writ, ("waiting for free file descriptors", TASKS));
}

#[test]
fn tasks_wait_for_processes_and_none_fails() {
    const TASKS: usize = 12;
    let cli = writ();
    crowd(&cli, TASKS);
    // Nobody counts the processes of root. Other users have processes of their own, but not in a new namespace.
    let script = "if [ $(id -u) = 0 ]; then
            chown -R 65534:65534 \"$1\" && exec setpriv --reuid=65534 --regid=65534 --clear-groups \\
                prlimit --nproc=30:30 \"$0\" run plan.json
        fi
        exec unshare -Ur prlimit --nproc=30:30 \"$0\" run plan.json";
    // The program must be reachable for another user.
    let program = cli.scratch().join("writ");
    fs::copy(env!("CARGO_BIN_EXE_writ"), &program).unwrap();
    let scratch = cli.scratch().path().to_str().unwrap().to_owned();
    let call = cli.call(["-c", script, program.to_str().unwrap(), &scratch]).program("sh");
    let writ = call.spawn();
    waits_and_then_does_all(&cli, writ, ("waiting for free processes", TASKS));
}

/// Independent tasks that do nothing, with this many descriptors for writ.
fn run_with_descriptors(cli: &Cli, (tasks, parallel, descriptors): (usize, usize, usize)) -> testkit::Output {
    let task = |number: usize| json!({"id": format!("t{number:02}"), "command": ["true"]});
    let document = with(plan((0..tasks).map(task)), json!({"workspace": ".", "max_parallel": parallel}));
    write_plan(cli, "");
    cli.scratch().write("project/plan.json", document.to_string());
    let script = format!("ulimit -n {descriptors}; exec \"$0\" run plan.json --output json");
    let call = cli.call(["-c", &script, env!("CARGO_BIN_EXE_writ")]).program("sh");
    call.run()
}

#[test]
fn tasks_that_wait_for_descriptors_hold_none() {
    for (tasks, parallel, descriptors) in [(64, 32, 40), (8, 4, 26)] {
        let cli = writ();
        run_with_descriptors(&cli, (tasks, parallel, descriptors)).success();
        let view = RunView::only(&cli).unwrap();
        assert_eq!(view.statuses(), vec!["done, claimed"; tasks], "{view:?}");
        assert!(view.tasks.values().all(|task| task.attempts() == ["succeeded"]), "{view:?}");
    }
}

#[test]
fn a_run_that_cannot_start_a_single_process_ends_with_an_error_and_can_be_continued() {
    let cli = writ();
    let output = run_with_descriptors(&cli, (3, 2, 16));
    let said = output.fails_with(1).json();
    let message = said["error"].as_str().unwrap_or_default();
    assert!(message.contains("no process could be started for 10 seconds"), "{output}");
    assert!(message.contains("ulimit -n"), "{output}");
    let view = RunView::only(&cli).unwrap();
    assert_eq!(view.state, "stopped", "{view:?}");
    let logs = fs::read_dir(format!("{}.logs", cli.db().display())).map_or(0, Iterator::count);
    assert_eq!(logs, 0, "what was not started left no log");
    cli.run(["run", "--continue", &view.id]).success();
    assert_eq!(RunView::only(&cli).unwrap().statuses(), vec!["done, claimed"; 3]);
}

/// Fewer and fewer descriptors: sooner or later the check cannot be started.
#[test]
fn a_check_that_cannot_be_started_fails_no_task_and_the_call_can_be_repeated() {
    let cli = writ();
    let new = ["task", "create", "--title", "t", "--check", "true", "--agent", "ann", "--request-id", "new"];
    let made = cli.run(new.iter().chain(&["--output", "json"]));
    let id = made.success().json()["data"]["task"]["id"].as_str().unwrap().to_owned();
    let done = ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--agent", "bob"];
    let done: Vec<&str> = done.iter().chain(&["--request-id", "done", "--output", "json"]).copied().collect();
    let mut was_short = false;
    for limit in (3..40).map(|number: u32| number.to_string()) {
        let script = ["-c", "ulimit -n $1; shift; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_writ"), &limit];
        let output = cli.call(script.iter().chain(&done)).program("sh").run();
        assert!(!output.stdout.contains("CHECK_FAILED"), "{limit} descriptors: {output}");
        was_short |= output.stdout.contains("this machine is short of");
        if output.status.success() {
            break;
        }
    }
    assert!(was_short, "no limit was low enough for the check and high enough for the rest");
    let shown = cli.run(done).success().json();
    assert_eq!(shown["data"]["task"]["evidence"], "verified", "{shown}");
}
