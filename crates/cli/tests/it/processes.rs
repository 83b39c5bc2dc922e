//! What tasks start is ended, bounded, and kept apart as the plan says.

use engine::supervisor::ProcessRole;
use testkit::{Cli, Signal, eventually, fake_agent, process};

use crate::run_view::{RunView, all_gone, audit_is_clean, file, marked_by, run_id, write_plan};

/// A plan of one task that is a scripted agent.
fn one_agent(steps: &[&str], more: &str) -> String {
    let agent = fake_agent();
    let command: Vec<&str> = std::iter::once(agent.to_str().unwrap()).chain(steps.iter().copied()).collect();
    format!(
        "objective = \"One agent\"\nworkspace = \".\"\n\n[[task]]\nid = \"agent\"\ntitle = \"Act\"\n\
         command = {command:?}\n{more}\n"
    )
}

#[test]
fn a_task_that_hides_and_does_not_listen_is_gone_after_its_timeout() {
    let steps = [
        "ignore-term",
        "daemon 600000 daemon.pid",
        "grandchild 600000 grandchild.pid",
        "write begun yes",
        "hang",
    ];
    for timeout in ["500ms", "4s", "15s"] {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        write_plan(&cli, &one_agent(&steps, &format!("timeout = \"{timeout}\"")));
        let output = cli.call(["run", "plan.toml"]).run();
        output.fails_with(1);
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
        let run = RunView::only(&cli).unwrap();
        let task = run.task("agent");
        assert_eq!((run.state.as_str(), task.status.as_str()), ("failed", "failed"));
        assert_eq!(task.reason, Some(format!("E_TIMEOUT: took longer than {timeout}")));
        let attempt = &task.attempts[0];
        assert_eq!((attempt.state.as_str(), attempt.code.as_deref()), ("failed", Some("E_TIMEOUT")));
        // On a busy machine it may not have come to its worst before the time was over.
        if cli.project().join("begun").exists() {
            assert_eq!(attempt.leftovers_killed, Some(2));
            return;
        }
    }
    panic!("the agent never came to its worst");
}

#[test]
fn a_task_that_leaves_its_own_session_at_once_is_followed() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &one_agent(&["ignore-term", "setsid", "daemon 600000", "hang"], ""));
    // The agent ends with 0 by itself; what it left in another session does not go on working.
    cli.run(["run", "plan.toml"]).success();
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let run = RunView::only(&cli).unwrap();
    assert_eq!(run.statuses(), ["done, claimed"]);
    assert!(run.task("agent").attempts[0].leftovers_killed > Some(0), "{run:?}");
}

#[test]
fn a_daemon_left_by_a_finished_task_is_ended_and_counted() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &one_agent(&["daemon 600000 one.pid", "daemon 600000 two.pid", "exit 0"], ""));
    cli.run(["run", "plan.toml"]).success();
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let run = RunView::only(&cli).unwrap();
    let attempt = &run.task("agent").attempts[0];
    assert_eq!((attempt.exit_code, attempt.leftovers_killed), (Some(0), Some(2)));
}

#[test]
fn a_killed_supervisor_fails_its_task_alone() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let steps = ["ignore-term", "daemon 600000", "grandchild 600000", "write begun yes", "hang"];
    let other = "[[task]]\nid = \"other\"\ntitle = \"Wait\"\nshell = true\n\
                 command = \"until [ -e go ]; do sleep 0.01; done\"\n";
    write_plan(&cli, &(one_agent(&steps, "") + other));
    let writ = cli.spawn(["run", "plan.toml"]);
    let run = run_id(&writ);
    eventually("the agent has begun", || !file(&cli, "begun").is_empty());
    let attempt = RunView::of(&cli, &run).task("agent").attempts[0].id.clone();
    let marked = marked_by(writ.pid());
    let shim = marked
        .iter()
        .find(|found| found.role == ProcessRole::Shim && found.marker.attempt.as_str() == attempt);
    process::signal(shim.unwrap().process.pid, Signal::KILL);
    eventually("its task has failed", || RunView::of(&cli, &run).task("agent").status == "failed");
    let left = marked_by(writ.pid());
    assert!(left.iter().all(|found| found.marker.attempt.as_str() != attempt), "{left:?}");
    std::fs::write(cli.project().join("go"), "").unwrap();
    writ.wait().fails_with(1);
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let view = RunView::of(&cli, &run);
    assert_eq!(view.statuses(), ["failed", "done, claimed"]);
    let agent = view.task("agent");
    assert_eq!(agent.attempts[0].code.as_deref(), Some("E_PROCESS_CRASH"));
    assert!(agent.reason.as_ref().unwrap().contains("its supervisor was lost"), "{agent:?}");
    audit_is_clean(&cli);
}

/// The most memory that writ took for a plan of this one agent.
fn peak_of(cli: &Cli, steps: &[&str]) -> u64 {
    write_plan(cli, &one_agent(steps, "timeout = \"5m\""));
    let mut writ = cli.spawn(["run", "plan.toml"]);
    let mut highest = 0;
    eventually("the run is over", || {
        highest = highest.max(peak_memory_kib(writ.pid()));
        !writ.is_running()
    });
    writ.wait().success();
    assert!(highest > 0, "nobody saw the memory of writ");
    highest
}

#[test]
fn a_flood_of_output_is_bounded_in_memory_and_on_disk() {
    // Far more than may be taken on top of what a run takes that prints nothing.
    const FLOOD: u64 = 24 * 1024 * 1024;
    const MEMORY_KIB: u64 = 8 * 1024;
    let quiet = peak_of(&Cli::new(env!("CARGO_BIN_EXE_writ")), &["sleep 300", "exit 0"]);
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let flood = format!("flood {FLOOD}");
    let steps = ["print first line", &flood, "print last line", "write flooded yes", "exit 0"];
    let flooded = peak_of(&cli, &steps);
    assert!(
        flooded < quiet + MEMORY_KIB,
        "writ took {flooded} KiB for {} KiB of output, and {quiet} KiB for none",
        FLOOD / 1024
    );
    let run = RunView::only(&cli).unwrap();
    let logs = cli.run(["logs", &run.task("agent").id]);
    logs.success();
    assert!(logs.stdout.starts_with("first line\n") && logs.stdout.ends_with("last line\n"));
    assert!(logs.stdout.len() <= 1024 * 1024, "{} bytes were kept", logs.stdout.len());
    assert!(logs.stderr.contains("bytes were not kept"), "{}", logs.stderr);
}

/// The most memory a process has had at once; 0 when it is gone.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn a_command_that_reads_finds_the_end_of_its_input() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let shell = "[[task]]\nid = \"shell\"\ntitle = \"Read\"\nshell = true\n\
                 command = \"read line; echo status $?; cat; echo end\"\n";
    write_plan(&cli, &(one_agent(&["stdin-echo", "print end"], "") + shell));
    // Also where writ's own input is open and has something in it.
    let mut writ = cli.call(["run", "plan.toml"]).open_stdin().spawn();
    writ.send("not for the tasks");
    writ.wait().success();
    let run = RunView::only(&cli).unwrap();
    let log = |name: &str| cli.run(["logs", &run.task(name).id]).stdout;
    assert_eq!((log("agent").as_str(), log("shell").as_str()), ("end\n", "status 1\nend\n"));
}

#[test]
fn disjoint_tasks_run_side_by_side() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let meet = |own: &str, others: [&str; 2]| {
        let wait: String =
            others.map(|other| format!("until [ -e {other} ]; do sleep 0.01; done; ")).concat();
        format!(
            "[[task]]\nid = \"{own}\"\ntitle = \"Meet\"\nshell = true\nwrites = [\"{own}\"]\ntimeout = \"20s\"\n\
             command = \"touch {own}; {wait}\"\n"
        )
    };
    let tasks = meet("a", ["b", "c"]) + &meet("b", ["c", "a"]) + &meet("c", ["a", "b"]);
    write_plan(&cli, &format!("objective = \"Three meet\"\nworkspace = \".\"\nmax_parallel = 3\n{tasks}"));
    cli.run(["run", "plan.toml"]).success();
}

#[test]
fn no_more_than_allowed_run_at_once() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    // Each takes one of two places, and fails if both are taken.
    let task = |number: u32| {
        format!(
            "[[task]]\nid = \"t{number}\"\ntitle = \"Take a place\"\nshell = true\n\
             command = \"mkdir one && p=one || {{ mkdir two && p=two; }} || exit 1; sleep 0.02; rmdir $p\"\n"
        )
    };
    let tasks: String = (0..8).map(task).collect();
    write_plan(&cli, &format!("objective = \"Two places\"\nworkspace = \".\"\nmax_parallel = 2\n{tasks}"));
    cli.run(["run", "plan.toml"]).success();
    assert_eq!(RunView::only(&cli).unwrap().statuses(), ["done, claimed"; 8]);
}

#[test]
fn tasks_that_write_the_same_place_never_run_together() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    // The order is only a chain; the other branch keeps the second place busy.
    let link = |number: u32, after: &str| {
        format!(
            "[[task]]\nid = \"w{number}\"\ntitle = \"Write\"\nshell = true\nwrites = [\"shared/{}\"]\n{after}\n\
             command = \"mkdir lock && echo {number} >> order.txt && sleep 0.02 && rmdir lock\"\n",
            if number.is_multiple_of(2) { "" } else { "inner" }
        )
    };
    let chain: String = (0..5)
        .map(|number| {
            let after =
                if number == 0 { String::new() } else { format!("depends_on = [\"w{}\"]", number - 1) };
            link(number, &after)
        })
        .collect();
    let beside = "[[task]]\nid = \"x\"\ntitle = \"Beside\"\nwrites = [\"elsewhere\"]\ncommand = [\"sleep\", \"0.1\"]\n";
    write_plan(
        &cli,
        &format!(
            "objective = \"One place\"\nworkspace = \".\"\nsandbox = \"off\"\nmax_parallel = 4\n{beside}{chain}"
        ),
    );
    cli.run(["run", "plan.toml"]).success();
    assert_eq!(file(&cli, "order.txt"), "0\n1\n2\n3\n4\n");
    all_gone(&cli);
}

#[test]
fn a_task_that_an_agent_has_taken_is_left_to_it() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let text = r#"
objective = "One works by itself"
workspace = "."

[[task]]
id = "first"
title = "Wait"
command = "until [ -e go ]; do sleep 0.01; done"
shell = true

[[task]]
id = "taken"
title = "An agent does it"
command = "touch ran"
shell = true
depends_on = ["first"]

[[task]]
id = "last"
title = "Needs the agent"
command = ["true"]
depends_on = ["taken"]
"#;
    write_plan(&cli, text);
    let mut writ = cli.spawn(["run", "plan.toml"]);
    let run = run_id(&writ);
    let task = RunView::of(&cli, &run).task("taken").id.clone();
    let by_ada = |verb: &str, more: &[&str]| {
        let words = ["task", verb, "--agent", "ada", "--request-id", verb, "--id", &task];
        cli.run(words.iter().chain(more)).success();
    };
    by_ada("begin", &[]);
    std::fs::write(cli.project().join("go"), "").unwrap();
    eventually("the first one is done", || RunView::of(&cli, &run).task("first").status == "done, claimed");
    assert!(writ.is_running());
    by_ada("complete", &["--outcome", "done", "--summary", "By hand"]);
    writ.wait().success();
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("done", vec!["done, claimed"; 3]));
    assert_eq!(view.task("taken").attempts(), Vec::<&str>::new());
    assert!(!cli.project().join("ran").exists());
    audit_is_clean(&cli);
}
