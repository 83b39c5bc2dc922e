//! Asking writ to stop: by signals, by `writ cancel`, and what a person at a terminal sees.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use testkit::{Background, Cli, Output, SeededIds, Signal, eventually, fake_agent, process};

use crate::run_view::{RunView, all_gone, audit_is_clean, file, run_id, write_plan};

/// One task that ends when it is asked, one that does not, and one that waits for both.
fn plan() -> String {
    let agent = fake_agent();
    let agent = agent.to_str().unwrap();
    format!(
        r#"
objective = "Two work, one waits"
workspace = "."

[[task]]
id = "polite"
title = "Ends when asked"
command = "echo polite >> begun.txt; until [ -e go ]; do sleep 0.01; done"
shell = true
retry_safe = true

[[task]]
id = "stubborn"
title = "Does not listen"
command = "echo stubborn >> begun.txt; [ -e go ] || exec {agent} ignore-term 'daemon 600000' hang"
shell = true
retry_safe = true

[[task]]
id = "waits"
title = "Comes last"
command = "echo last >> last.txt"
shell = true
depends_on = ["polite", "stubborn"]
retry_safe = true
"#
    )
}

/// A run in the middle of its first two tasks.
#[track_caller]
fn in_the_middle(cli: &Cli) -> (Background<'_>, String) {
    write_plan(cli, &plan());
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("both tasks have begun", || file(cli, "begun.txt").lines().count() == 2);
    let run = run_id(&writ);
    (writ, run)
}

#[track_caller]
fn go_on(cli: &Cli, run: &str) -> Output {
    std::fs::write(cli.project().join("go"), "").unwrap();
    cli.run(["run", "--continue", run])
}

/// The numbers are those every shell shows.
const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

#[test]
fn a_signal_stops_the_children_and_leaves_the_run_to_be_continued() {
    for (signal, code) in SIGNALS {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let (writ, run) = in_the_middle(&cli);
        // As a terminal does it: to everybody in the group.
        process::signal_group(writ.pid(), signal);
        let output = writ.wait();
        output.fails_with(code);
        assert!(output.stderr.contains(&format!("writ run --continue {run}")), "{output}");
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
        let view = RunView::of(&cli, &run);
        assert_eq!(view.state, "stopped");
        assert_eq!(view.statuses(), ["blocked", "blocked", "todo"]);
        assert_eq!(view.task("polite").attempts(), ["interrupted"]);
        go_on(&cli, &run).success();
        let view = RunView::of(&cli, &run);
        assert_eq!((view.state.as_str(), view.statuses()), ("done", vec!["done, claimed"; 3]));
        assert_eq!(view.task("stubborn").attempts(), ["interrupted", "succeeded"]);
        assert_eq!(view.task("waits").attempts(), ["succeeded"]);
        assert_eq!(file(&cli, "last.txt"), "last\n");
        audit_is_clean(&cli);
    }
}

#[test]
fn a_second_signal_ends_everything_at_once() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    // It would take its grace, and more: asked to end, it says so and goes on.
    let stays = "trap 'touch asked' TERM; echo polite >> begun.txt; while :; do sleep 0.01; done";
    let text =
        "objective = \"Stay\"\nworkspace = \".\"\n[[task]]\nid = \"stays\"\ntitle = \"Stay\"\nshell = true\n";
    write_plan(&cli, &format!("{text}command = \"{stays}\"\nretry_safe = true\n"));
    let writ = cli.spawn(["run", "plan.toml", "--output", "json"]);
    eventually("the task has begun", || !file(&cli, "begun.txt").is_empty());
    let run = run_id(&writ);
    writ.signal(Signal::INT);
    eventually("it was asked", || cli.project().join("asked").exists());
    writ.signal(Signal::TERM);
    let output = writ.wait();
    let answer = output.fails_with(143).json();
    assert_eq!((&answer["error_code"], &answer["retry"]), (&"INTERRUPTED".into(), &"same_request".into()));
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("stopped", vec!["blocked"]));
    assert_eq!(view.task("stays").attempts(), ["interrupted"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a point in time that follows from nothing is what is wanted")]
fn soak_a_signal_at_any_moment_fails_nothing() {
    let mut random = SeededIds::surprising();
    let names = ["a", "b", "c", "d"];
    let task = |name: &str| {
        format!(
            "[[task]]\nid = \"{name}\"\ntitle = \"T\"\ncommand = [\"true\"]\nretry_safe = true\n\
             [[task.checks]]\ncommand = [\"true\"]\n"
        )
    };
    let tasks: String = names.map(task).concat();
    for _ in 0..testkit::rounds(4) {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        write_plan(&cli, &format!("objective = \"Quick\"\nworkspace = \".\"\nmax_parallel = 2\n{tasks}"));
        let writ = cli.spawn(["run", "plan.toml", "--request-id", "once"]);
        std::thread::sleep(Duration::from_micros(random.below(200_000)));
        // Also to the supervising processes that are just being started.
        process::signal_group(writ.pid(), Signal::INT);
        let output = writ.wait();
        // Done before it came, stopped, or ended before anybody listened.
        let ended = (output.status.code(), output.status.signal());
        assert!(matches!(ended, (Some(0 | 130), None) | (None, Some(2))), "{output}");
        all_gone(&cli);
        cli.run(["run", "plan.toml", "--request-id", "once"]).success();
        let run = RunView::only(&cli).unwrap();
        assert_eq!(run.statuses(), ["done, verified"; 4]);
        for task in run.tasks.values() {
            let kept = |state: &&str| matches!(*state, "succeeded" | "interrupted");
            assert!(task.attempts().iter().all(kept), "{output}\n{run:?}");
        }
        audit_is_clean(&cli);
    }
    let rounds = testkit::rounds(4).into();
    testkit::Storm { rounds, operations: 2 * rounds, kills: rounds, seed: None }.report();
}

#[test]
fn a_signal_to_one_that_waits_for_another_disturbs_nobody() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let (mut writ, run) = in_the_middle(&cli);
    let attached = cli.spawn(["run", "--continue", &run]);
    eventually("the second one waits", || attached.stderr().contains("another writ works this run"));
    attached.signal(Signal::INT);
    attached.wait().fails_with(130);
    assert!(writ.is_running());
    assert_eq!(RunView::of(&cli, &run).statuses(), ["in_progress", "in_progress", "todo"]);
    writ.signal(Signal::TERM);
    writ.wait().fails_with(143);
    go_on(&cli, &run).success();
}

#[test]
fn a_signal_while_checks_decide_about_an_interrupted_task_is_heard() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let text = r#"
objective = "A check that takes its time"
workspace = "."

[[task]]
id = "checked"
title = "Work"
command = "touch begun; until [ -e go ]; do sleep 0.01; done"
shell = true

[[task.checks]]
command = "trap '' TERM; touch checking; until [ -e go ]; do sleep 0.01; done"
shell = true
"#;
    write_plan(&cli, text);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&writ);
    drop(writ.kill_nine());
    all_gone(&cli);
    for (signal, code) in SIGNALS {
        drop(std::fs::remove_file(cli.project().join("checking")));
        let writ = cli.spawn(["run", "--continue", &run]);
        eventually("the check runs", || cli.project().join("checking").exists());
        writ.signal(signal);
        writ.wait().fails_with(code);
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
        // Nothing was decided.
        assert_eq!(RunView::of(&cli, &run).task("checked").attempts(), ["started"]);
    }
    go_on(&cli, &run).success();
    assert_eq!(RunView::of(&cli, &run).task("checked").attempts(), ["succeeded"]);
    audit_is_clean(&cli);
}

#[test]
fn cancel_ends_the_run_of_a_living_engine() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let (writ, run) = in_the_middle(&cli);
    let cancel = cli.run(["cancel", &run, "--output", "json"]);
    assert_eq!(cancel.success().json()["data"]["state"], "canceling");
    writ.wait().fails_with(1);
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("canceled", vec!["canceled"; 3]));
    assert_eq!(view.task("polite").attempts(), ["interrupted"]);
    assert!(!cli.project().join("last.txt").exists());
    // It has ended: going on gives its answer, and cancelling again is refused.
    go_on(&cli, &run).fails_with(1);
    assert_eq!(RunView::of(&cli, &run), view);
    cli.run(["cancel", &run]).fails_with(1);
    audit_is_clean(&cli);
}

#[test]
fn cancel_is_not_forgotten_when_the_engine_dies_first() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let (writ, run) = in_the_middle(&cli);
    // Stopped, it cannot act on what it is told.
    writ.signal(Signal::STOP);
    assert_eq!(cli.run(["cancel", &run, "--output", "json"]).json()["data"]["state"], "canceling");
    drop(writ.kill_nine());
    all_gone(&cli);
    go_on(&cli, &run).fails_with(1);
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("canceled", vec!["canceled"; 3]));
    assert_eq!(view.task("polite").attempts(), ["interrupted"]);
    assert_eq!(file(&cli, "begun.txt").lines().count(), 2, "nothing was started again");
    audit_is_clean(&cli);
}

#[test]
fn cancel_ends_a_run_that_nobody_works() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let (writ, run) = in_the_middle(&cli);
    drop(writ.kill_nine());
    assert_eq!(cli.run(["cancel", &run, "--output", "json"]).json()["data"]["state"], "canceled");
    all_gone(&cli);
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("canceled", vec!["canceled"; 3]));
    assert_eq!(view.task("polite").attempts(), ["interrupted"]);
    audit_is_clean(&cli);
}

#[test]
fn cancel_of_a_task_ends_that_task_and_the_rest_goes_on() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let beside =
        "[[task]]\nid = \"beside\"\ntitle = \"Goes on\"\ncommand = [\"true\"]\ndepends_on = [\"polite\"]\n";
    let later = "[[task]]\nid = \"later\"\ntitle = \"Is not wanted\"\nshell = true\n\
                 command = \"echo later >> last.txt\"\ndepends_on = [\"polite\"]\n";
    write_plan(&cli, &(plan() + beside + later));
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("both tasks have begun", || file(&cli, "begun.txt").lines().count() == 2);
    let run = run_id(&writ);
    let ids = RunView::of(&cli, &run);
    // One that runs, and one whose turn has not come.
    cli.run(["cancel", &ids.task("stubborn").id]).success();
    cli.run(["cancel", &ids.task("later").id]).success();
    eventually("its children are gone", || {
        let view = RunView::of(&cli, &run);
        view.task("stubborn").attempts() == ["interrupted"]
    });
    std::fs::write(cli.project().join("go"), "").unwrap();
    writ.wait().fails_with(1);
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let view = RunView::of(&cli, &run);
    assert_eq!(view.state, "failed");
    // beside, later, polite, stubborn, waits
    assert_eq!(view.statuses(), ["done, claimed", "canceled", "done, claimed", "canceled", "canceled"]);
    assert_eq!(view.task("polite").attempts(), ["succeeded"]);
    assert_eq!(view.task("later").attempts(), Vec::<&str>::new());
    assert!(!cli.project().join("last.txt").exists());
    cli.run(["trace", &run]).success();
    audit_is_clean(&cli);
}

#[test]
fn a_terminal_shows_a_line_a_task_and_is_left_clean() {
    // `script` gives the program a terminal and copies what it draws.
    let cli = Cli::new("script");
    let go = "[[task]]\nid = \"quick\"\ntitle = \"Quick\"\ncommand = [\"sh\", \"-c\", \"echo words; sleep 0.3\"]\n\
              [[task]]\nid = \"broken\"\ntitle = \"Broken\"\ncommand = [\"false\"]\n";
    write_plan(&cli, &format!("objective = \"Look\"\nworkspace = \".\"\n{go}"));
    let line = format!("{} run plan.toml", env!("CARGO_BIN_EXE_writ"));
    let output = cli.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").run();
    output.fails_with(1);
    let screen = Screen::showing(&output.stdout);
    let drawn: Vec<&str> = screen.lines.iter().map(String::as_str).collect();
    let starting = |name: &str| drawn.iter().filter(|line| line.starts_with(name)).count();
    // The answer replaces the live view, so each task is there once.
    assert_eq!((starting("quick "), starting("broken ")), (1, 1), "{drawn:#?}");
    assert!(output.stdout.contains("running") && output.stdout.contains("words"), "{}", output.stdout);
    assert!(drawn.iter().any(|line| line.starts_with("run failed:")), "{drawn:#?}");
    assert_eq!((screen.row, screen.column), (drawn.len(), 0), "{drawn:#?}");
}

#[test]
fn ctrl_c_at_a_terminal_leaves_it_clean_too() {
    let cli = Cli::new("script");
    write_plan(&cli, &plan());
    let line = format!("exec {} run plan.toml", env!("CARGO_BIN_EXE_writ"));
    let mut shown = cli.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").open_stdin().spawn();
    eventually("both tasks have begun", || file(&cli, "begun.txt").lines().count() == 2);
    // The terminal turns the byte into a signal for the foreground group.
    shown.send("\x03");
    let output = shown.wait();
    output.fails_with(130);
    all_gone(&cli);
    let screen = Screen::showing(&output.stdout);
    assert!(screen.lines.iter().any(|line| line.starts_with("interrupted; continue with")), "{screen:#?}");
    assert_eq!((screen.row, screen.column), (screen.lines.len(), 0));
}

#[test]
fn a_terminal_that_goes_away_stops_the_run() {
    let cli = Cli::new("script");
    write_plan(&cli, &plan());
    let line = format!("exec {} run plan.toml", env!("CARGO_BIN_EXE_writ"));
    let terminal = cli.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").open_stdin().spawn();
    eventually("both tasks have begun", || file(&cli, "begun.txt").lines().count() == 2);
    drop(terminal.kill_nine());
    all_gone(&cli);
    let writ = Cli::new(env!("CARGO_BIN_EXE_writ")).env("WRIT_DB", cli.db());
    let run = RunView::only(&writ).unwrap();
    assert_eq!((run.state.as_str(), run.statuses()), ("stopped", vec!["blocked", "blocked", "todo"]));
}

/// What a terminal shows in the end.
#[derive(Debug)]
struct Screen {
    lines: Vec<String>,
    row: usize,
    column: usize,
}

impl Screen {
    /// `script` gives a terminal without a size, which has that of the environment.
    fn showing(printed: &str) -> Self {
        let mut parser = vt100::Parser::new(24, 100, 0);
        parser.process(printed.as_bytes());
        let screen = parser.screen();
        let (row, column) = screen.cursor_position();
        let lines = screen.contents().lines().map(str::to_owned).collect();
        Self { lines, row: row.into(), column: column.into() }
    }
}
