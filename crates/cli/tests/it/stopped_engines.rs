//! Two runs that write one path, while the engine of the first is stopped or killed in every way: the second waits for
//! it and names it, or takes over when nothing of it is left. The two children never write at the same time.

use std::time::Instant;

use contract::domain::limits;
use engine::supervisor::{ProcessRole, process_table};
use testkit::{Background, Cli, Signal, eventually, process};

use crate::bad_stores::sqlite;
use crate::decisions::digits;
use crate::run_view::{RunView, all_gone, audit_is_clean, file, marked_by, run_id};

const MODES: [&str; 2] = ["on", "off"];

/// Shorter than the lease of an engine.
const SHORT: &str = "10s";
const LONG: &str = "5m";

/// Writes its name again and again until `NAME-go` exists beside the workspace, where it is nobody's change.
fn writer(name: &str, namespace: &str, timeout: &str) -> String {
    format!(
        r#"
objective = "One path"
sandbox = "off"
workspace = "."

[[task]]
id = "{name}"
command = """
mkdir -p out
until [ -e ../{name}-go ]; do echo {name} >> out/log; sleep 0.01; done
echo {name} >> out/log
"""
shell = true
writes = ["out"]
namespace = "{namespace}"
timeout = "{timeout}"

[[task.checks]]
command = "grep -q {name} out/log"
shell = true
"#
    )
}

struct Scene {
    cli: Cli,
}

impl Scene {
    /// Two plans that write `out`.
    fn new(namespace: &str, timeout: &str) -> Self {
        let cli = Cli::writ();
        for name in ["one", "two"] {
            let plan = writer(name, namespace, timeout);
            std::fs::write(cli.project().join(format!("{name}.toml")), plan).unwrap();
        }
        // The second ends as soon as it begins.
        std::fs::write(cli.scratch().join("two-go"), "").unwrap();
        Self { cli }
    }

    /// The first run, whose child is writing.
    fn first(&self) -> Background<'_> {
        let first = self.cli.spawn(["run", "one.toml"]);
        self.is_writing();
        first
    }

    fn second(&self) -> Background<'_> {
        self.cli.spawn(["run", "two.toml"])
    }

    fn lines(&self) -> usize {
        file(&self.cli, "out/log").lines().count()
    }

    #[track_caller]
    fn is_writing(&self) {
        let before = self.lines();
        eventually("the first child writes", || self.lines() > before + 1);
    }

    fn finish(&self) {
        std::fs::write(self.cli.scratch().join("one-go"), "").unwrap();
    }

    /// Waits until the lease of the lock is over, so that only the engine's process keeps it.
    #[track_caller]
    fn lease_is_over(&self) {
        let expired = || {
            let listed = self.cli.run(["lock", "list", "--output", "json"]).success().json();
            let locks = listed["data"]["locks"].as_array().unwrap();
            assert_eq!(locks.len(), 1, "{listed}");
            locks[0]["is_expired"] == true
        };
        // Looking earlier would only take the machine's time.
        let begun = Instant::now();
        eventually("the lease has passed", || begun.elapsed() > limits::ENGINE_LOCK_LEASE);
        eventually("the lease of the first engine is over", expired);
    }

    /// A sweep takes nothing from the engine, and says why.
    #[track_caller]
    fn is_not_swept(&self, words: &str) {
        let swept = self.cli.run(["watchdog", "sweep", "--output", "json"]).success().json();
        assert_eq!(swept["data"]["released"].as_array().map(Vec::len), Some(0), "{swept}");
        let reason = swept["data"]["kept"][0]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(words), "{swept}");
    }

    /// Once the second child has written, the first one never does again.
    #[track_caller]
    fn nothing_interleaved(&self) {
        self.nothing_interleaved_in_the_log();
        audit_is_clean(&self.cli);
    }

    fn nothing_interleaved_in_the_log(&self) {
        let log = file(&self.cli, "out/log");
        let after: Vec<&str> = log.lines().skip_while(|line| *line == "one").collect();
        assert!(!after.is_empty() && after.iter().all(|line| *line == "two"), "{after:?}");
    }

    /// What the summary and the trace of a run say.
    fn told(&self, run: &str) -> [String; 2] {
        [vec!["runs", "show", run], vec!["trace", run]]
            .map(|words| self.cli.run(words).success().stdout.clone())
    }
}

#[track_caller]
fn says(writ: &Background<'_>, words: &str) {
    eventually(words, || writ.stderr().contains(words));
}

fn shims_of(writ: &Background<'_>) -> Vec<u32> {
    let marked = marked_by(writ.pid());
    marked.iter().filter(|marked| marked.role == ProcessRole::Shim).map(|marked| marked.process.pid).collect()
}

fn is_stopped(pid: u32) -> bool {
    process_table::read(pid).is_some_and(|process| process.is_stopped)
}

/// Whether it is stopped, or waits in the kernel for a child that was stopped before it could begin its program.
fn is_held(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    is_stopped(pid) || stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D'))
}

/// Everything below the shims, without the first processes of namespaces.
fn below(writ: &Background<'_>) -> Vec<u32> {
    let table = process_table::snapshot();
    let closed = std::collections::BTreeSet::new();
    let shims = shims_of(writ);
    let mut found: Vec<u32> = Vec::new();
    for shim in &shims {
        let living = process_table::descendants(&table, *shim, &closed).into_iter();
        found.extend(living.filter(|process| !process.is_zombie).map(|process| process.pid));
    }
    let inits: Vec<u32> = marked_by(writ.pid())
        .iter()
        .filter(|marked| marked.role == ProcessRole::Init)
        .map(|marked| marked.process.pid)
        .collect();
    found.retain(|pid| !inits.contains(pid));
    found
}

/// The engine is stopped in some way, its lease passes, and it goes on: the second run waits for it all the time.
fn waits_for_a_stopped_engine(namespace: &str, signal: Signal) {
    let scene = Scene::new(namespace, if signal == Signal::TSTP { SHORT } else { LONG });
    let first = scene.first();
    let one = run_id(&first);
    first.signal(signal);
    eventually("the engine is stopped", || is_stopped(first.pid()));
    let second = scene.second();
    says(&second, &format!("held by T-1 of {one}, process {}, which is stopped", first.pid()));
    if signal == Signal::TSTP {
        // Its children are stopped with it.
        let children = below(&first);
        assert!(!children.is_empty() && children.iter().all(|pid| is_held(*pid)), "{children:?}");
        assert!(shims_of(&first).iter().all(|pid| !is_stopped(*pid)), "a shim has to see that writ dies");
    } else {
        // Nobody can tell it, so its child goes on and its lock stays.
        scene.is_writing();
    }
    let lines = scene.lines();
    scene.lease_is_over();
    scene.is_not_swept(&format!("process {}, which is stopped", first.pid()));
    if signal == Signal::TSTP {
        assert_eq!(scene.lines(), lines, "nothing is written while it is stopped");
    } else {
        scene.is_writing();
    }
    assert_eq!(RunView::of(&scene.cli, &run_id(&second)).task("two").attempts(), Vec::<&str>::new());
    scene.finish();
    first.signal(Signal::CONT);
    // With Ctrl-Z, more than the task's timeout has passed, and does not count.
    first.wait().success();
    second.wait().success();
    assert_eq!(RunView::of(&scene.cli, &one).statuses(), ["done, verified"]);
    scene.nothing_interleaved();
}

/// The engine is killed together with what should end its child, or that cannot act: the second run takes over when the
/// child is gone, and both runs say so.
fn takes_over_from_a_killed_engine(namespace: &str, kill: impl Fn(&Background<'_>)) {
    let scene = Scene::new(namespace, LONG);
    let first = scene.first();
    let one = run_id(&first);
    let second = scene.second();
    says(&second, &format!("two: waiting for lock on out held by T-1 of {one}, process {}", first.pid()));
    let two = run_id(&second);
    kill(&first);
    drop(first.kill_nine());
    let output = second.wait();
    output.success();
    all_gone(&scene.cli);
    scene.nothing_interleaved();
    let took = format!("took the lock on out from T-1 of {one}: its engine is gone");
    assert!(output.stdout.contains(&took) || output.stderr.contains(&took), "{output}");
    for told in scene.told(&two) {
        assert!(told.contains(&took), "{told}");
    }
    // What the first one did is not called done, although its check passes: somebody else has written there since.
    scene.cli.run(["run", "--continue", &one]).fails_with(1);
    let view = RunView::of(&scene.cli, &one);
    assert_eq!((view.state.as_str(), view.statuses()), ("stopped", vec!["blocked"]));
    let [summary, trace] = scene.told(&one);
    let lost = format!("its locks were taken, and T-1 of {two} got out since");
    assert!(summary.contains(&lost), "{summary}");
    assert!(trace.contains("its engine is gone"), "{trace}");
}

/// Each in a scene of its own, at the same time: most of it is waiting for a lease.
fn in_both_modes(scene: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for mode in MODES {
            scope.spawn(|| scene(mode));
        }
    });
}

#[test]
fn ctrl_z_stops_the_children_too_and_the_lock_stays() {
    in_both_modes(|mode| waits_for_a_stopped_engine(mode, Signal::TSTP));
}

#[test]
fn an_engine_that_is_stopped_keeps_its_lock_while_its_child_goes_on() {
    in_both_modes(|mode| waits_for_a_stopped_engine(mode, Signal::STOP));
}

#[test]
fn writ_and_shim_killed_together_leave_no_writer_when_the_lock_is_given_out() {
    in_both_modes(|mode| {
        takes_over_from_a_killed_engine(mode, |writ| {
            // A writ that goes on would end what its shim left behind.
            writ.signal(Signal::STOP);
            shims_of(writ).into_iter().for_each(|shim| process::signal(shim, Signal::KILL));
        });
    });
}

#[test]
fn a_stopped_shim_with_writ_killed_leaves_no_writer_when_the_lock_is_given_out() {
    in_both_modes(|mode| {
        takes_over_from_a_killed_engine(mode, |writ| {
            shims_of(writ).into_iter().for_each(|shim| process::signal(shim, Signal::STOP));
        });
    });
}

/// The run that a program said it works.
fn run_id_of(output: &testkit::Output) -> String {
    let told = output.stderr.lines().find_map(|line| line.strip_prefix("run "));
    told.expect("it says which run it works").to_owned()
}

/// Types the answer when `lock release --force` asks for it.
fn force(scene: &Scene, run: &str, answer: &str) -> (Option<i32>, String) {
    let words = ["lock", "release", "--run", run, "--task", "T-1", "--force", "--reason", "it is stuck"];
    let mut asked = scene.cli.call(words).on_terminal(120, 24);
    let printed = |asked: &testkit::OnTerminal<'_>| String::from_utf8_lossy(&asked.printed()).into_owned();
    eventually("the question is asked", || digits(&printed(&asked)).is_some());
    let answer = answer.replace("DIGITS", &digits(&printed(&asked)).unwrap());
    asked.press(&format!("{answer}\n"));
    let status = asked.wait();
    (status.code(), printed(&asked))
}

#[test]
fn a_person_takes_the_lock_of_a_stopped_engine_by_force_and_that_ends_its_processes_first() {
    let scene = Scene::new("off", LONG);
    let first = scene.first();
    let one = run_id(&first);
    first.signal(Signal::STOP);
    let second = scene.second();
    says(&second, "which is stopped; continue it with `kill -CONT");
    // Only a person decides it, and only with the digits of this action.
    let words = ["lock", "release", "--run", &one, "--task", "T-1", "--force", "--reason", "it is stuck"];
    let refused = scene.cli.run(words);
    assert!(!refused.status.success() && refused.stdout.contains("a person has to decide this"), "{refused}");
    let (code, printed) = force(&scene, &one, "n");
    assert_ne!(code, Some(0), "{printed}");
    assert!(process::is_running(first.pid()));
    let (code, printed) = force(&scene, &one, "DIGITS");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains(&format!("process {}, which is stopped", first.pid())), "{printed}");
    let output = second.wait();
    output.success();
    scene.nothing_interleaved();
    let forced = ": forced by human.";
    for told in scene.told(&run_id_of(&output)) {
        assert!(told.contains(&format!("took the lock on out from T-1 of {one}{forced}")), "{told}");
    }
    let [_, trace] = scene.told(&one);
    assert!(trace.contains("forced by human.") && trace.contains("it is stuck"), "{trace}");
    drop(first.kill_nine());
    all_gone(&scene.cli);
}

#[test]
fn the_lock_of_an_engine_that_cannot_be_seen_is_given_out_only_by_a_person() {
    let scene = Scene::new("on", LONG);
    let first = scene.first();
    let one = run_id(&first);
    drop(first.kill_nine());
    all_gone(&scene.cli);
    // As the store looks to another machine, after the lease.
    let elsewhere = "UPDATE locks SET lease_until = 0, \
         holder = json_set(holder, '$.boot_id', 'another boot', '$.machine', 'another machine')";
    sqlite(&scene.cli.db(), elsewhere);
    scene.is_not_swept("which cannot be seen from here: another machine or container");
    let waited = scene.cli.run(["run", "two.toml", "--lock-wait", "10ms"]);
    waited.fails_with(1);
    let remedy = "when nothing of it runs any more, use `writ lock release --force`";
    assert!(waited.stderr.contains(remedy) || waited.stdout.contains(remedy), "{waited}");
    // The next engine of the run would get its locks too.
    let continued = scene.cli.run(["run", "--continue", &one]);
    assert!(
        !continued.status.success() && continued.stderr.contains("cannot be seen from here"),
        "{continued}"
    );
    assert!(continued.stderr.contains("writ lock release --force"), "{continued}");
    let (code, printed) = force(&scene, &one, "DIGITS");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("writ cannot end it from here"), "{printed}");
    scene.cli.run(["run", "two.toml"]).success();
    scene.nothing_interleaved_in_the_log();
}

/// Stops a program with Ctrl-Z for longer than its child may take; when it goes on, the child ends as if nothing was.
fn outlasts_its_timeout_while_stopped(cli: &Cli, writ: Background<'_>) -> testkit::Output {
    eventually("the child runs", || cli.project().join("started").exists());
    writ.signal(Signal::TSTP);
    eventually("it is stopped", || is_stopped(writ.pid()));
    let children = below(&writ);
    assert!(!children.is_empty() && children.iter().all(|pid| is_held(*pid)), "{children:?}");
    cli.call(["12"]).program("sleep").run().success();
    cli.scratch().write("project/go", "");
    writ.signal(Signal::CONT);
    writ.wait()
}

const WAITS: &str = "echo here > started; until [ -e go ]; do sleep 0.01; done";

#[test]
fn ctrl_z_on_a_loop_stops_its_agent_and_the_time_does_not_count() {
    let cli = Cli::writ().env("WRIT_AGENT", "ann");
    cli.run(["task", "create", "--title", "slow", "--request-id", "r"]).success();
    let program = env!("CARGO_BIN_EXE_writ");
    let close = "task complete --id $WRIT_TASK --outcome done --summary ok --request-id c --output json >&2";
    let path = cli.scratch().write("agent.sh", format!("{WAITS}\n{program} {close}\n"));
    let command = format!("sh {}", path.display());
    let words = ["loop", "--cooldown", "0", "--task-timeout", "10s", "--command", &command];
    let output = outlasts_its_timeout_while_stopped(&cli, cli.spawn(words));
    assert_eq!(output.success().json()["data"]["results"][0]["status"], "completed", "{output}");
}

#[test]
fn ctrl_z_on_a_worker_stops_its_command_and_the_time_does_not_count() {
    let cli = Cli::writ();
    let plan = "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"started\", \"go\"]\n";
    let run = crate::documents::opened(&cli, plan);
    let words =
        ["worker", "run", "--run", &run, "--owner", "w1", "--timeout", "10s", "--", "sh", "-c", WAITS];
    let output = outlasts_its_timeout_while_stopped(&cli, cli.spawn(words));
    assert_eq!(output.success().json()["data"]["tasks"][0]["status"], "done", "{output}");
}
