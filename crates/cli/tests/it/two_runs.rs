//! Several engines in one workspace: no two tasks write the same path at once, even if an engine dies or is stopped.

use testkit::{Background, Cli, Signal, eventually, fake_agent};

use crate::bad_stores::sqlite;
use crate::run_view::{RunView, all_gone, audit_is_clean, file, run_id};

fn cli() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

/// One task that holds `writes` from the moment `NAME-runs` exists until `NAME-go` does. Two at once betray themselves.
fn gated(name: &str, writes: &str) -> String {
    task(name, writes, &format!("touch {name}-runs; until [ -e {name}-go ]; do sleep 0.01; done"))
}

fn task(name: &str, writes: &str, work: &str) -> String {
    format!(
        r#"
[[task]]
id = "{name}"
title = "Task {name}"
command = """
mkdir ../guard || echo {name} >> ../overlaps
{work}
rmdir ../guard
echo {name} >> ../order
"""
shell = true
writes = [{writes:?}]
retry_safe = true
timeout = "2m"
"#
    )
}

fn write(cli: &Cli, file: &str, tasks: &[String]) {
    let plan =
        format!("objective = \"One workspace\"\nworkspace = \".\"\nsandbox = \"off\"\n{}", tasks.concat());
    std::fs::write(cli.project().join(file), plan).unwrap();
}

fn touch(cli: &Cli, name: &str) {
    std::fs::write(cli.project().join(name), "").unwrap();
}

#[track_caller]
fn is_running(cli: &Cli, name: &str) {
    let marker = cli.project().join(format!("{name}-runs"));
    eventually("the task runs", || marker.exists());
}

#[track_caller]
fn says(writ: &Background<'_>, words: &str) {
    eventually(words, || writ.stderr().contains(words));
}

#[track_caller]
fn nothing_overlapped(cli: &Cli) {
    assert!(!cli.scratch().has("overlaps"), "{}", file(cli, "../overlaps"));
    let held = cli.run(["lock", "list", "--output", "json"]).success().json();
    assert_eq!(held["data"]["locks"].as_array().map(Vec::len), Some(0), "{held}");
    audit_is_clean(cli);
}

/// The numbers under which a run was ever granted something, newest first.
fn tokens(cli: &Cli, run: &str) -> Vec<i64> {
    let output = cli.run(["lock", "list", "--run", run, "--history", "--output", "json"]);
    let history = output.success().json();
    history["data"]["locks"].as_array().unwrap().iter().filter_map(|lock| lock["token"].as_i64()).collect()
}

#[test]
fn what_one_run_writes_another_waits_for_and_says_so() {
    let cli = cli();
    write(&cli, "one.toml", &[gated("one", "out")]);
    write(&cli, "two.toml", &[task("two", "out/deep", "true"), task("free", "elsewhere", "true")]);
    // The guard is for tasks that must not meet; this one may run beside the first.
    let two = std::fs::read_to_string(cli.project().join("two.toml")).unwrap();
    let apart = two.replace("mkdir ../guard || echo free >> ../overlaps\ntrue\nrmdir ../guard", "true");
    std::fs::write(cli.project().join("two.toml"), apart).unwrap();

    let first = cli.spawn(["run", "one.toml"]);
    is_running(&cli, "one");
    let second = cli.spawn(["run", "two.toml"]);
    let held = format!("two: waiting for lock on out held by T-1 of {}", run_id(&first));
    says(&second, &held);
    let (one, two) = (run_id(&first), run_id(&second));
    says(&second, "free: done");
    assert_eq!(RunView::of(&cli, &two).task("two").attempts(), Vec::<&str>::new());

    touch(&cli, "one-go");
    first.wait().success();
    let output = second.wait();
    output.success();
    assert_eq!(output.stderr.matches("waiting for lock").count(), 1, "{output}");
    assert_eq!(file(&cli, "../order"), "free\none\ntwo\n");
    assert_eq!(RunView::of(&cli, &two).task("two").attempts(), ["succeeded"]);
    assert!(tokens(&cli, &two).iter().max() > tokens(&cli, &one).iter().max());
    nothing_overlapped(&cli);
}

#[test]
fn a_crowd_of_engines_never_runs_two_tasks_that_write_the_same() {
    let cli = cli();
    let scopes = ["a", "a/b", "."];
    for engine in 0..5 {
        let tasks: Vec<String> = scopes
            .iter()
            .enumerate()
            .map(|(number, scope)| {
                let needs: Vec<String> = (0..number).map(|before| format!("t{engine}-{before}")).collect();
                task(&format!("t{engine}-{number}"), scope, "sleep 0.01")
                    + &format!("depends_on = {needs:?}\n")
            })
            .collect();
        write(&cli, &format!("{engine}.toml"), &tasks);
    }
    let engines: Vec<_> = (0..5).map(|engine| cli.spawn(["run", &format!("{engine}.toml")])).collect();
    for engine in engines {
        engine.wait().success();
    }
    assert_eq!(file(&cli, "../order").lines().count(), 15);
    nothing_overlapped(&cli);
}

#[test]
fn kill_nine_of_a_holder_frees_what_it_held_when_its_lease_ends() {
    let cli = cli();
    write(&cli, "one.toml", &[gated("one", "out")]);
    write(&cli, "two.toml", &[task("two", ".", "true")]);
    let first = cli.spawn(["run", "one.toml"]);
    let one = run_id(&first);
    is_running(&cli, "one");
    let second = cli.spawn(["run", "two.toml"]);
    says(&second, "two: waiting for lock on out held by T-1 of");
    drop(first.kill_nine());
    // What it had started is gone long before its locks are free, so nothing can meet.
    std::fs::remove_dir(cli.scratch().join("guard")).unwrap();
    let second_id = run_id(&second);
    second.wait().success();
    all_gone(&cli);
    assert_eq!(RunView::of(&cli, &one).task("one").status, "in_progress");

    let before = tokens(&cli, &second_id);
    touch(&cli, "one-go");
    cli.call(["run", "--continue", &one]).run().success();
    assert_eq!(RunView::of(&cli, &one).task("one").attempts(), ["interrupted", "succeeded"]);
    assert!(tokens(&cli, &one)[0] > before[0], "a grant after a death has a higher number");
    assert_eq!(file(&cli, "../order"), "two\none\n");
    nothing_overlapped(&cli);
}

#[test]
fn an_engine_whose_locks_were_taken_ends_its_child_and_does_not_call_the_work_done() {
    let cli = cli();
    write(&cli, "one.toml", &[gated("one", "out")]);
    let first = cli.spawn(["run", "one.toml"]);
    let one = run_id(&first);
    is_running(&cli, "one");
    // As a person on another machine leaves it, who cannot end this engine.
    let taken = "UPDATE locks SET active = 0, released_at = 0, release_reason = 'forced by human.ann: gone'";
    sqlite(&cli.db(), taken);
    first.wait().fails_with(1);
    let view = RunView::of(&cli, &one);
    assert_eq!((view.state.as_str(), view.task("one").status.as_str()), ("stopped", "blocked"));
    assert!(
        view.task("one").reason.as_deref().is_some_and(|r| r.contains("locks were taken back")),
        "{view:?}"
    );
    assert_eq!(view.task("one").attempts(), ["unknown"]);
    all_gone(&cli);
}

#[test]
fn a_wait_has_an_end_and_a_person_can_ask_again() {
    let cli = cli();
    write(&cli, "one.toml", &[gated("one", "out")]);
    write(&cli, "two.toml", &[task("two", "out", "true")]);
    let first = cli.spawn(["run", "one.toml"]);
    is_running(&cli, "one");
    let second = cli.spawn(["run", "two.toml", "--lock-wait", "10ms"]);
    let two = run_id(&second);
    second.wait().fails_with(1);
    let waited = RunView::of(&cli, &two);
    assert_eq!((waited.state.as_str(), waited.task("two").status.as_str()), ("stopped", "blocked"));
    let reason = waited.task("two").reason.clone().unwrap_or_default();
    assert!(
        reason.starts_with("LOCK_CONFLICT: T-1 conflicts with the lock on `out` held by T-1 of run_"),
        "{reason}"
    );
    touch(&cli, "one-go");
    first.wait().success();
    cli.run(["retry", &waited.task("two").id]).success();
    assert_eq!(RunView::of(&cli, &two).task("two").attempts(), ["succeeded"]);
    nothing_overlapped(&cli);
}

#[test]
fn a_waiting_run_can_be_interrupted_and_canceled() {
    let cli = cli();
    write(&cli, "one.toml", &[gated("one", "out")]);
    write(&cli, "two.toml", &[task("two", "out", "true")]);
    let first = cli.spawn(["run", "one.toml"]);
    is_running(&cli, "one");
    let interrupted = cli.spawn(["run", "two.toml"]);
    says(&interrupted, "waiting for lock");
    interrupted.signal(Signal::INT);
    interrupted.wait().fails_with(130);
    let canceled = cli.spawn(["run", "two.toml"]);
    says(&canceled, "waiting for lock");
    cli.run(["cancel", &run_id(&canceled)]).success();
    canceled.wait().fails_with(1);
    touch(&cli, "one-go");
    first.wait().success();
    nothing_overlapped(&cli);
}

#[test]
fn a_run_started_from_inside_a_task_works_in_what_that_task_holds() {
    let cli = cli();
    let writ = env!("CARGO_BIN_EXE_writ");
    write(&cli, "inner.toml", &[task("inner", "out/deep", "true")]);
    let outer = task("outer", "out", "true").replace(
        "mkdir ../guard || echo outer >> ../overlaps\ntrue\nrmdir ../guard",
        &format!("{writ} run inner.toml --lock-wait 1ms"),
    );
    write(&cli, "outer.toml", &[outer]);
    cli.run(["run", "outer.toml"]).success();
    assert_eq!(file(&cli, "../order"), "inner\nouter\n");
    nothing_overlapped(&cli);
}

#[test]
fn a_task_waits_for_the_approval_that_somebody_asked_for() {
    let cli = cli();
    let second = task("second", "two", "true") + "depends_on = [\"first\"]\n";
    write(&cli, "plan.toml", &[gated("first", "one"), second]);
    let writ = cli.spawn(["run", "plan.toml"]);
    is_running(&cli, "first");
    let run = run_id(&writ);
    let asked = cli.run(["approval", "request", "--run", &run, "--task", "T-2", "--output", "json"]);
    let id = asked.success().json()["data"]["id"].as_str().unwrap().to_owned();
    touch(&cli, "first-go");
    says(&writ, &format!("second: waiting for approval {id}"));
    crate::decisions::decide(&cli, &["approval", "grant", &id]).success();
    writ.wait().success();
    assert_eq!(file(&cli, "../order"), "first\nsecond\n");
    nothing_overlapped(&cli);
}

#[test]
fn what_a_plan_may_not_spend_is_not_started() {
    let cli = cli();
    let share = "[task.budget]\nmax_cost_usd = 0.6\n";
    // Nobody knows what an agent spent that does not say so, and a command spends nothing.
    let agent = format!(
        "executor = \"aop-stdio\"\nprompt = \"p\"\ncommand = [{:?}, \"aop-success\"]\n",
        fake_agent()
    );
    let tasks = ["first", "second"].map(|id| format!("[[task]]\nid = \"{id}\"\n{agent}{share}"));
    let plan = format!(
        "objective = \"Cheap\"\nworkspace = \".\"\nsandbox = \"off\"\nmax_parallel = 1\n[budget]\nmax_cost_usd = 1.0\n{}",
        tasks.concat()
    );
    std::fs::write(cli.project().join("plan.toml"), plan).unwrap();
    let writ = cli.spawn(["run", "plan.toml"]);
    let run = run_id(&writ);
    writ.wait().fails_with(1);
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("stopped", vec!["done, claimed", "blocked"]));
    let reason = view.task("second").reason.clone().unwrap_or_default();
    assert_eq!(reason, "E_COST_LIMIT_EXCEEDED: the task may spend $0.60, but only $0.40 is left");
    crate::decisions::decide(&cli, &["budget", "set", "--run", &run, "--cost", "2"]).success();
    cli.run(["retry", &view.task("second").id]).success();
    assert_eq!(RunView::of(&cli, &run).statuses(), ["done, claimed", "done, claimed"]);
    nothing_overlapped(&cli);
}
