//! `kill -9` of writ: nothing it started outlives it, and the run goes on where it was.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use engine::supervisor::ProcessRole;
use testkit::{Cli, SeededIds, Signal, eventually, process};

use crate::run_view::{RunView, all_gone, audit_is_clean, file, marked_by, run_id, write_plan};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Each task leaves the name of its attempt in its own file, and processes that are hard to find.
fn crew() -> String {
    let needs: [&[&str]; 6] = [&[], &[], &["a"], &["a", "b"], &["c"], &["d", "e"]];
    let task = |(name, needs): (&str, &[&str])| {
        // Every second task can be verified by what it leaves.
        let check = if needs.len() == 1 {
            format!("[[task.checks]]\ncommand = [\"grep\", \"-q\", \"attempt\", \"{name}.txt\"]\n")
        } else {
            String::new()
        };
        format!(
            r#"
[[task]]
id = "{name}"
title = "Task {name}"
command = """
trap '' TERM
(setsid sh -c "trap '' TERM; sleep 600" &)
(env -i setsid sleep 600 &)
sleep 600 &
echo "${{WRIT_MARK%%:*}}" >> {name}.txt
sleep 0.02
"""
shell = true
writes = ["{name}.txt"]
depends_on = {needs:?}
retry_safe = true
timeout = "1m"
{check}"#
        )
    };
    let tasks: String = NAMES.into_iter().zip(needs).map(task).collect();
    format!("objective = \"Six files\"\nworkspace = \".\"\nmax_parallel = 3\n{tasks}")
}

/// What the tasks have done to the world.
fn files(cli: &Cli) -> BTreeMap<String, Vec<String>> {
    let lines = |name: &str| file(cli, &format!("{name}.txt")).lines().map(str::to_owned).collect();
    NAMES.into_iter().map(|name| (name.to_owned(), lines(name))).collect()
}

/// What is true after every death and at the end: each effect belongs to an attempt that was written down first, and
/// what is done stays as it was.
#[track_caller]
fn hold_against_the_store(before: Option<&(RunView, BTreeMap<String, Vec<String>>)>, cli: &Cli) -> RunView {
    let now = RunView::only(cli).expect("the run is there");
    let effects = files(cli);
    for (name, task) in &now.tasks {
        let lines = &effects[name];
        for line in lines {
            assert!(
                task.attempts.iter().any(|attempt| attempt.id == *line),
                "{line} of {name} is unknown: {task:?}"
            );
            assert_eq!(lines.iter().filter(|other| *other == line).count(), 1, "{line} of {name} came twice");
        }
        let closed = task.attempts.iter().rev().skip(1);
        assert!(
            closed.clone().all(|attempt| attempt.state != "started"),
            "only the last can be open: {task:?}"
        );
        if !task.status.starts_with("done") {
            continue;
        }
        assert!(!lines.is_empty(), "{name} is done and did nothing: {task:?}");
        assert_eq!(task.attempts.last().map(|last| last.state.as_str()), Some("succeeded"), "{task:?}");
        if let Some((earlier, effects_then)) = before.filter(|(run, _)| run.task(name).status == task.status)
        {
            assert_eq!(earlier.task(name), task, "{name} was done and was worked again");
            assert_eq!(effects_then[name], *lines, "{name} was done and its file changed");
        }
    }
    if let Some((earlier, _)) = before {
        let undone = earlier.tasks.iter().filter(|(_, task)| task.status.starts_with("done"));
        for (name, task) in undone {
            assert_eq!(now.task(name), task, "{name} was done");
        }
    }
    now
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a point in time that follows from nothing is what is wanted")]
fn soak_kill_nine_at_any_point_of_a_run_leaves_nothing_behind_and_repeats_nothing_that_is_done() {
    let mut random = SeededIds::surprising();
    let kills = testkit::rounds(12);
    let (mut killed, mut finished, mut resumed_kills) = (0, 0, 0);
    while killed < kills {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        write_plan(&cli, &crew());
        let mut before = None;
        loop {
            // The first call, and each one after it: the same request, or the run by its name.
            let id = before.as_ref().map(|(run, _): &(RunView, _)| run.id.clone());
            let by_name = id.filter(|_| random.below(2) == 0);
            let resumes = by_name.is_some();
            let mut writ = match by_name {
                Some(id) => cli.spawn(["run", "--continue", &id]),
                None => cli.spawn(["run", "plan.toml", "--request-id", "once"]),
            };
            // A quarter dies while it is still getting up; the rest anywhere in the work.
            let span = if random.below(4) == 0 { 20_000 } else { 350_000 };
            let moment = Duration::from_micros(random.below(span));
            if killed < kills {
                std::thread::sleep(moment);
                if writ.is_running() {
                    killed += 1;
                    resumed_kills += u32::from(resumes);
                    let owner = writ.pid();
                    drop(writ.kill_nine());
                    all_gone(&cli);
                    eventually("no mark is left", || marked_by(owner).is_empty());
                    // It may have died before there was a store.
                    if cli.db().exists() {
                        audit_is_clean(&cli);
                    }
                    if RunView::only(&cli).is_some() {
                        before = Some((hold_against_the_store(before.as_ref(), &cli), files(&cli)));
                    } else {
                        assert_eq!(
                            files(&cli).values().flatten().count(),
                            0,
                            "something ran before it was written down"
                        );
                    }
                    continue;
                }
            }
            let output = writ.wait();
            output.success();
            let run = hold_against_the_store(before.as_ref(), &cli);
            assert_eq!(run.state, "done", "{run:?}");
            assert!(run.statuses().iter().all(|status| status.starts_with("done")), "{run:?}");
            assert_eq!(cli.leftovers(), Vec::<u32>::new());
            audit_is_clean(&cli);
            finished += 1;
            break;
        }
    }
    println!("{killed} kills, {resumed_kills} of them while a run was continued, {finished} runs finished");
    let kills = u64::from(killed);
    testkit::Storm { rounds: kills, operations: kills + finished, kills, seed: None }.report();
}

/// The places where a kill can fall between two things that belong together: a commit, a piece of one, the start of a
/// process, the handing over of its task. With how far apart those are that are tried each time.
const PLACES: [(&str, u64); 4] =
    [("fsync,fdatasync", 6), ("clone,clone3,vfork", 6), ("write", 12), ("pwrite64", 360)];

/// Calls writ so that it dies right before its `number`th call of this kind. True if it came that far.
fn dies_at(tracer: &Cli, cli: &Cli, (place, number): (&str, u64), words: &[&str]) -> bool {
    let (trace, inject) = (format!("trace={place}"), format!("inject={place}:signal=KILL:when={number}"));
    let strace = ["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, env!("CARGO_BIN_EXE_writ")];
    let call = tracer.call(strace.iter().chain(words)).in_dir(cli.project()).env("WRIT_DB", cli.db());
    let output = call.run();
    assert!(matches!(output.status.code(), None | Some(0 | 1)), "{output}");
    output.status.signal() == Some(Signal::KILL.as_raw())
}

/// Kills writ at one place after the other, and once more while it continues, until it comes to its end.
fn die_everywhere(prepare: impl Fn(&Cli), judge: impl Fn(&Cli, Option<&RunView>)) {
    const WORDS: [&str; 4] = ["run", "plan.toml", "--request-id", "once"];
    let mut random = SeededIds::surprising();
    let tracer = Cli::new("strace");
    let (mut operations, mut kills) = (0, 0);
    for (place, stride) in PLACES {
        let stride = stride.div_ceil(u64::from(testkit::rounds(1)));
        let mut number = 1 + random.below(stride);
        loop {
            let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
            prepare(&cli);
            let died = dies_at(&tracer, &cli, (place, number), &WORDS);
            let (again, _) = PLACES[usize::try_from(random.below(3)).unwrap()];
            if died {
                dies_at(&tracer, &cli, (again, 1 + random.below(8)), &WORDS);
            }
            all_gone(&cli);
            audit_is_clean(&cli);
            let before = RunView::only(&cli);
            drop(cli.run(WORDS));
            judge(&cli, before.as_ref());
            assert_eq!(cli.leftovers(), Vec::<u32>::new());
            audit_is_clean(&cli);
            (operations, kills) = (operations + 2 + u64::from(died), kills + u64::from(died));
            if !died {
                break;
            }
            number += 1 + random.below(2 * stride - 1);
        }
    }
    let rounds = u64::from(testkit::rounds(1));
    testkit::Storm { rounds, operations, kills, seed: None }.report();
}

#[test]
fn soak_a_run_goes_on_wherever_its_commits_were_cut() {
    let text = r#"
objective = "Two lines"
workspace = "."

[[task]]
id = "a"
title = "First"
command = "echo ${WRIT_MARK%%:*} >> a.txt"
shell = true
writes = ["a.txt"]
retry_safe = true

[[task.checks]]
command = ["test", "-s", "a.txt"]

[[task]]
id = "b"
title = "Second"
command = "echo ${WRIT_MARK%%:*} >> b.txt"
shell = true
writes = ["b.txt"]
depends_on = ["a"]
retry_safe = true
"#;
    let judge = |cli: &Cli, before: Option<&RunView>| {
        let run = RunView::only(cli).unwrap();
        assert_eq!((run.state.as_str(), run.statuses()), ("done", vec!["done, verified", "done, claimed"]));
        for (name, task) in &run.tasks {
            let file = file(cli, &format!("{name}.txt"));
            assert!(
                file.lines().all(|line| task.attempts.iter().any(|attempt| attempt.id == line)),
                "{run:?}"
            );
            let is_done = before.is_some_and(|before| before.task(name).status.starts_with("done"));
            assert!(!is_done || before.map(|before| before.task(name)) == Some(task), "{before:?}\n{run:?}");
        }
    };
    die_everywhere(|cli| write_plan(cli, text), judge);
}

#[test]
fn soak_a_refusal_stays_a_refusal_wherever_it_was_cut() {
    let prepare = |cli: &Cli| {
        std::fs::create_dir(cli.project().join(".writ")).unwrap();
        std::fs::write(cli.project().join(".writ/config.toml"), "[policy]\ndeny_shell = true\n").unwrap();
        let task = "[[task]]\nid = \"t\"\ntitle = \"T\"\ncommand = \"touch ran\"\nshell = true\n";
        write_plan(cli, &format!("objective = \"Not allowed\"\nworkspace = \".\"\n{task}"));
    };
    let judge = |cli: &Cli, _: Option<&RunView>| {
        let run = RunView::only(cli).unwrap();
        assert_eq!((run.state.as_str(), run.statuses()), ("failed", vec!["canceled"]));
        assert!(run.task("t").reason.as_ref().unwrap().starts_with("the run was refused"), "{run:?}");
        let answer = cli.run(["runs", "show", &run.id, "--output", "json"]).json();
        assert!(answer["data"]["result"]["reason"].as_str().unwrap().contains("shell"), "{answer}");
        assert!(!cli.project().join("ran").exists());
    };
    die_everywhere(prepare, judge);
}

/// A task that is not safe to repeat. It says that it has begun, and finishes only when it is let.
fn careful(check: &str) -> String {
    format!(
        r#"
objective = "One thing that must not happen twice"
workspace = "."

[[task]]
id = "careful"
title = "Send the letter"
command = "echo sent >> letters.txt; touch begun; until [ -e go ]; do sleep 0.01; done"
shell = true
writes = ["letters.txt", "begun"]
scratch = ["go", "checking", "approved"]

[[task.checks]]
command = "{check}"
shell = true

[[task]]
id = "after"
title = "Wait for the letter"
command = "echo after >> after.txt"
shell = true
depends_on = ["careful"]
writes = ["after.txt"]
retry_safe = true
"#
    )
}

/// A run whose engine was killed in the middle of its first task.
#[track_caller]
fn die_in_the_middle(cli: &Cli, plan: &str) -> String {
    write_plan(cli, plan);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&writ);
    drop(writ.kill_nine());
    all_gone(cli);
    let view = RunView::of(cli, &run);
    assert_eq!((view.state.as_str(), view.task("careful").attempts()), ("interrupted", vec!["started"]));
    run
}

#[test]
fn what_is_not_safe_to_repeat_is_parked_for_a_person() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let run = die_in_the_middle(&cli, &careful("test -e approved"));
    for _ in 0..2 {
        let parked = cli.run(["run", "--continue", &run]);
        parked.fails_with(1);
        assert!(parked.stderr.contains("--rerun-parked"), "{parked}");
        let view = RunView::of(&cli, &run);
        assert_eq!(view.state, "stopped");
        assert_eq!(view.statuses(), ["todo", "blocked"]);
        assert_eq!(view.task("careful").attempts(), ["unknown"]);
        assert_eq!(file(&cli, "letters.txt"), "sent\n");
    }
    for go_on in ["approved", "go"] {
        std::fs::write(cli.project().join(go_on), "").unwrap();
    }
    cli.run(["run", "--continue", &run, "--rerun-parked"]).success();
    let view = RunView::of(&cli, &run);
    assert_eq!(view.statuses(), ["done, claimed", "done, verified"]);
    // By then its check passed, so that nothing had to be sent again.
    assert_eq!(view.task("careful").attempts(), ["unknown"]);
    assert_eq!((file(&cli, "letters.txt").as_str(), file(&cli, "after.txt").as_str()), ("sent\n", "after\n"));
    audit_is_clean(&cli);
}

#[test]
fn a_person_can_have_a_parked_task_run_again() {
    for words in [["run", "--rerun-parked", "--continue"].as_slice(), &["retry"]] {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let run = die_in_the_middle(&cli, &careful("test $(wc -l < letters.txt) -eq 2"));
        cli.run(["run", "--continue", &run]).fails_with(1);
        let parked = RunView::of(&cli, &run).task("careful").clone();
        assert_eq!(parked.attempts(), ["unknown"]);
        std::fs::write(cli.project().join("go"), "").unwrap();
        let which = if words == ["retry"] { &parked.id } else { &run };
        cli.run(words.iter().copied().chain([which.as_str()])).success();
        let view = RunView::of(&cli, &run);
        assert_eq!((view.state.as_str(), view.statuses()), ("done", vec!["done, claimed", "done, verified"]));
        assert_eq!(view.task("careful").attempts(), ["unknown", "succeeded"]);
        assert_eq!(file(&cli, "letters.txt"), "sent\nsent\n");
        audit_is_clean(&cli);
    }
}

#[test]
fn what_its_checks_prove_is_done_without_running_again() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let run = die_in_the_middle(&cli, &careful("grep sent letters.txt"));
    cli.run(["run", "--continue", &run]).success();
    let view = RunView::of(&cli, &run);
    assert_eq!((view.state.as_str(), view.statuses()), ("done", vec!["done, claimed", "done, verified"]));
    assert_eq!(view.task("careful").attempts(), ["succeeded"]);
    assert_eq!(file(&cli, "letters.txt"), "sent\n");
    audit_is_clean(&cli);
}

#[test]
fn a_task_whose_checks_were_cut_is_checked_again_and_not_run_again() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let check = "setsid sleep 600 & touch checking; until [ -e go ]; do sleep 0.01; done";
    let text = careful(check).replace("touch begun; until [ -e go ]; do sleep 0.01; done", "true");
    write_plan(&cli, &text);
    for _ in 0..2 {
        let writ = cli.spawn(["run", "plan.toml", "--request-id", "once"]);
        eventually("the check runs", || cli.project().join("checking").exists());
        drop(writ.kill_nine());
        all_gone(&cli);
        std::fs::remove_file(cli.project().join("checking")).unwrap();
        assert_eq!(RunView::only(&cli).unwrap().task("careful").attempts(), ["started"]);
    }
    std::fs::write(cli.project().join("go"), "").unwrap();
    cli.run(["run", "plan.toml", "--request-id", "once"]).success();
    let view = RunView::only(&cli).unwrap();
    assert_eq!(view.statuses(), ["done, claimed", "done, verified"]);
    assert_eq!(view.task("careful").attempts(), ["succeeded"]);
    assert_eq!(file(&cli, "letters.txt"), "sent\n");
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}

#[test]
fn another_writ_does_no_harm_to_a_living_one() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &careful("grep sent letters.txt"));
    let other = "objective = \"Another\"\nworkspace = \".\"\n[[task]]\nid = \"t\"\ntitle = \"T\"\ncommand = [\"true\"]\n";
    std::fs::write(cli.project().join("other.toml"), other).unwrap();
    let mut living = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    let run = run_id(&living);
    let owner = living.pid();
    let shims = || {
        let marked = marked_by(owner).into_iter().filter(|marked| marked.role == ProcessRole::Shim);
        marked.map(|shim| shim.process.key()).collect::<Vec<_>>()
    };
    let shims_before = shims();
    assert_eq!(shims_before.len(), 1);
    cli.run(["run", "other.toml"]).success();
    cli.run(["doctor"]).success();
    let attached = cli.spawn(["run", "--continue", &run]);
    eventually("the second one waits", || attached.stderr().contains("another writ works this run"));
    // Killed while it waits, and once more by somebody who asks politely.
    drop(attached.kill_nine());
    let mut attached = cli.spawn(["run", "--continue", &run]);
    eventually("the third one waits", || attached.stderr().contains("another writ works this run"));
    assert_eq!(shims(), shims_before);
    assert!(living.is_running() && attached.is_running());
    std::fs::write(cli.project().join("go"), "").unwrap();
    let (first, second) = (living.wait(), attached.wait());
    first.success();
    second.success();
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(file(&cli, "letters.txt"), "sent\n");
    assert_eq!(RunView::of(&cli, &run).task("careful").attempts(), ["succeeded"]);
}

#[test]
fn an_interruption_uses_up_no_retry() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    // The first attempt is killed, the second fails, the third succeeds.
    let work = "echo x >> begun; case $(wc -l < begun) in 1) exec sleep 600;; 2) exit 1;; esac";
    let text = "objective = \"Three\"\nworkspace = \".\"\n[[task]]\nid = \"careful\"\ntitle = \"Try\"\nshell = true\n";
    let run =
        die_in_the_middle(&cli, &format!("{text}command = \"{work}\"\nretry_safe = true\nretries = 1\n"));
    cli.run(["run", "--continue", &run]).success();
    let view = RunView::of(&cli, &run);
    assert_eq!(view.task("careful").attempts(), ["interrupted", "failed", "succeeded"]);
}

#[test]
fn an_engine_that_lost_its_run_ends_its_children_before_it_leaves() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &careful("true"));
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    // As if its lease had run out while the machine slept, and an engine elsewhere had taken the run.
    let taken = "UPDATE runs SET owner = json_set(owner, '$.pid', 1)";
    Cli::new("sqlite3").run([cli.db().as_os_str(), taken.as_ref()]).success();
    let output = writ.wait();
    output.fails_with(75);
    assert!(output.stderr.contains("was taken by another engine"), "{output}");
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}

#[test]
fn what_lost_its_supervisor_too_is_ended_by_the_next_writ() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let hide = "(env -i setsid sleep 600 &); setsid sleep 600 & echo $$ > begun; wait";
    let text = "objective = \"Hide\"\nworkspace = \".\"\n[[task]]\nid = \"careful\"\ntitle = \"Hide\"\nshell = true\n";
    // In a namespace nothing would be left to do.
    write_plan(&cli, &format!("{text}namespace = \"off\"\ncommand = \"{hide}\"\n"));
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || !file(&cli, "begun").is_empty());
    let run = run_id(&writ);
    let shims = marked_by(writ.pid()).into_iter().filter(|marked| marked.role == ProcessRole::Shim);
    let shims: Vec<u32> = shims.map(|shim| shim.process.pid).collect();
    // In one moment: a stopped one cannot act on the other's death.
    shims.iter().for_each(|&shim| process::signal(shim, Signal::STOP));
    drop(writ.kill_nine());
    shims.iter().for_each(|&shim| process::signal(shim, Signal::KILL));
    let executor = file(&cli, "begun").trim().parse().unwrap();
    assert!(process::is_running(executor));
    cli.run(["run", "--continue", &run]).fails_with(1);
    assert!(!process::is_running(executor));
    // One of them had neither a mark nor a parent any more, and so nothing that says whose it was.
    let left: Vec<u32> = cli.leftovers().into_iter().filter(|&pid| is_marked(pid)).collect();
    assert_eq!(left, Vec::<u32>::new());
    assert_eq!(RunView::of(&cli, &run).task("careful").attempts(), ["unknown"]);
}

fn is_marked(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry.starts_with(b"WRIT_MARK="))
}

#[test]
fn a_writ_that_a_task_started_goes_with_its_task() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let inner = "command = \"(env -i setsid sleep 600 &); touch begun; sleep 600\"\nshell = true\n";
    let task = |command: &str| {
        format!("objective = \"O\"\nworkspace = \".\"\n[[task]]\nid = \"t\"\ntitle = \"T\"\n{command}")
    };
    std::fs::write(cli.project().join("inner.toml"), task(inner)).unwrap();
    let outer = format!("command = [\"{}\", \"run\", \"inner.toml\"]\n", env!("CARGO_BIN_EXE_writ"));
    write_plan(&cli, &task(&outer));
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the inner task has begun", || cli.project().join("begun").exists());
    drop(writ.kill_nine());
    all_gone(&cli);
    audit_is_clean(&cli);
}
