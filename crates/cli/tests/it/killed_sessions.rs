//! An engine that is killed again and again in a session of 30 TASKs: the end is that of a session that nobody disturbed.

mod session;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use testkit::{Background, Cli, SeededIds, eventually};

use crate::documents::writ;
use crate::run_view::{RunView, TaskView, all_gone, audit_is_clean, marked_by, run_id};
use session::{BUDGET, Kind, Part, files, meet, parts, prepare};

const COMMAND: [&str; 4] = ["run", "session.json", "--request-id", "once"];
/// What the session may spend, in dollars: more than all attempts together can cost or withhold.
const LIMIT: &str = "500";

/// Starts the session, gives it its budget, and lets it begin.
fn begin(cli: &Cli) -> Background<'_> {
    prepare(cli);
    let engine = cli.spawn(COMMAND);
    let run = run_id(&engine);
    eventually("the gate works", || journal(cli).contains_key("gate-1"));
    cli.run(["budget", "set", "--run", &run, "--cost", LIMIT, "--tokens", "1000000000"]).success();
    fs::write(meet(cli).join("open"), "").unwrap();
    // The gate began before there was a budget, so nothing is reserved for it. It ends before anything is counted.
    eventually("others work", || journal(cli).len() > 1);
    engine
}

/// The attempts that began, in order, by the names of their tasks.
fn journal(cli: &Cli) -> BTreeMap<String, Vec<String>> {
    let mut begun: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let text = fs::read_to_string(meet(cli).join("journal")).unwrap_or_default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [name, attempt, "begins"] = words[..] {
            begun.entry(name.to_owned()).or_default().push(attempt.to_owned());
        }
    }
    begun
}

/// What is true whenever no engine works: each attempt that began is in the store, and began once; what had ended then was
/// not begun again since.
#[track_caller]
fn nothing_came_twice(cli: &Cli, before: Option<&(RunView, BTreeMap<String, Vec<String>>)>) -> RunView {
    let run = RunView::only(cli).expect("the run is there");
    let begun = journal(cli);
    for (name, attempts) in &begun {
        let task = run.task(name);
        for attempt in attempts {
            assert!(task.attempts.iter().any(|known| known.id == *attempt), "{name} {attempt}: {task:?}");
            assert_eq!(attempts.iter().filter(|other| *other == attempt).count(), 1, "{name} {attempt}");
        }
        let closed = task.attempts.iter().rev().skip(1);
        assert!(closed.clone().all(|attempt| attempt.state != "started"), "{task:?}");
    }
    if let Some((earlier, begun_then)) = before {
        let has_ended = |task: &TaskView| {
            ["done", "failed", "canceled"].iter().any(|ended| task.status.starts_with(ended))
                || task.attempts.last().is_some_and(|last| last.state == "unknown")
        };
        for (name, task) in earlier.tasks.iter().filter(|(_, task)| has_ended(task)) {
            assert_eq!(run.task(name), task, "{name} had ended");
            assert_eq!(begun.get(name), begun_then.get(name), "{name} had ended and began again");
        }
    }
    run
}

/// How an attempt ended, as it is compared: those that were interrupted do not count.
fn ends(task: &TaskView) -> Vec<(String, Option<String>)> {
    let ended = task.attempts.iter().filter(|attempt| attempt.state != "interrupted");
    ended.map(|attempt| (attempt.state.clone(), attempt.code.clone())).collect()
}

/// Whether a task that must not run again was left to a person.
fn is_parked(task: &TaskView) -> bool {
    let is_unknown = task.reason.as_ref().is_some_and(|reason| reason.starts_with("unknown: "));
    task.status == "blocked" && task.attempts() == ["unknown"] && is_unknown
}

/// The end of a session is that of the undisturbed one. Returns how many attempts were interrupted, and how many tasks parked.
#[track_caller]
fn ends_alike(cli: &Cli, calm: &Cli) -> (usize, usize) {
    let (run, expected) = (RunView::only(cli).unwrap(), RunView::only(calm).unwrap());
    let attempts = run.tasks.values().flat_map(|task| &task.attempts);
    let interrupted = attempts.filter(|attempt| attempt.state == "interrupted").count();
    let mut parked = 0;
    for part in parts() {
        let Part { name, kind, .. } = &part;
        let (task, other) = (run.task(name), expected.task(name));
        if *kind == Kind::Careful && is_parked(task) {
            parked += 1;
            continue;
        }
        assert_eq!(task.status, other.status, "{name}: {task:?}");
        assert_eq!(ends(task), ends(other), "{name}: {task:?}");
        assert_eq!(files(cli, &part), files(calm, &part), "{name}: {task:?}");
    }
    let state = if parked > 0 { "stopped" } else { "failed" };
    assert_eq!(run.state, state, "{run:?}");
    (interrupted, parked)
}

/// Every micro-dollar is free, spent or withheld: spent as attempts reported it, withheld where nobody knows.
#[track_caller]
fn money_is_conserved(cli: &Cli) {
    let run = cli.run(["runs", "show", "@last", "--output", "json"]).success().json();
    let (mut spent, mut withheld) = (0, 0);
    for task in run["data"]["tasks"].as_array().unwrap() {
        let mut known = 0;
        for attempt in task["attempts"].as_array().unwrap() {
            // It began before there was a budget.
            let is_first_gate = task["name"] == "gate-1" && attempt["number"] == 1;
            match attempt["outcome"]["cost"].as_i64() {
                _ if is_first_gate => {}
                Some(cost) => {
                    known += cost;
                    spent += cost;
                }
                None => withheld += (BUDGET - known).max(0),
            }
        }
    }
    let budget = cli.run(["budget", "show", "--run", "@last", "--output", "json"]).success().json();
    let part = |name: &str| budget["data"][name]["cost"].as_i64().unwrap();
    let found = [part("reserved"), part("spent"), part("withheld")];
    assert_eq!(found, [0, spent, withheld], "{budget}");
    assert_eq!(part("limit"), part("free") + found.iter().sum::<i64>(), "{budget}");
}

/// Waits for the moment at which an engine is killed. A quarter dies early, while it recovers what the one before it left,
/// the others after their tasks have done something.
#[expect(clippy::disallowed_methods, reason = "a point in time that follows from nothing is what is wanted")]
fn wait_for_its_end(cli: &Cli, random: &mut SeededIds, engine: &mut Background<'_>) {
    let lines = || fs::read_to_string(meet(cli).join("journal")).unwrap_or_default().lines().count();
    if random.below(4) == 0 {
        std::thread::sleep(Duration::from_micros(random.below(150_000)));
        return;
    }
    let enough = lines() + 1 + usize::try_from(random.below(16)).unwrap();
    eventually("the session goes on", || lines() >= enough || !engine.is_running());
    std::thread::sleep(Duration::from_micros(random.below(60_000)));
}

/// Works a session to its end, and kills its engine up to so many times. Returns how often it was.
fn disturbed(cli: &Cli, random: &mut SeededIds, kills: u32) -> u32 {
    let mut killed = 0;
    let mut before = None;
    let mut engine = begin(cli);
    loop {
        if killed < kills {
            wait_for_its_end(cli, random, &mut engine);
        }
        if killed == kills || !engine.is_running() {
            drop(engine.wait());
            break;
        }
        killed += 1;
        let owner = engine.pid();
        drop(engine.kill_nine());
        all_gone(cli);
        eventually("no mark is left", || marked_by(owner).is_empty());
        let run = nothing_came_twice(cli, before.as_ref());
        before = Some((run, journal(cli)));
        engine = cli.spawn(COMMAND);
    }
    nothing_came_twice(cli, before.as_ref());
    killed
}

#[test]
fn soak_a_session_whose_engine_is_killed_ends_like_one_that_nobody_disturbed() {
    let mut random = SeededIds::surprising();
    let seed = random.seed();
    let calm = writ();
    begin(&calm).wait().fails_with(1);
    money_is_conserved(&calm);
    let kills = testkit::rounds(8);
    let (mut killed, mut sessions, mut cut) = (0, 0, (0, 0));
    while killed < kills {
        let cli = writ();
        killed += disturbed(&cli, &mut random, kills - killed);
        sessions += 1;
        let (interrupted, parked) = ends_alike(&cli, &calm);
        cut = (cut.0 + interrupted, cut.1 + parked);
        money_is_conserved(&cli);
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
        audit_is_clean(&cli);
    }
    let (interrupted, parked) = cut;
    println!(
        "{killed} kills in {sessions} sessions: {interrupted} attempts interrupted, {parked} tasks parked"
    );
    assert!(interrupted + parked > 0, "the kills disturbed nobody");
    let kills = u64::from(killed);
    testkit::Storm { rounds: kills, operations: kills + sessions, kills, seed: Some(seed) }.report();
}

#[test]
fn the_session_that_nobody_disturbs_shows_every_kind_of_end() {
    let cli = writ();
    begin(&cli).wait().fails_with(1);
    let run = RunView::only(&cli).unwrap();
    let text = |part: &Part| files(&cli, part).remove("log").map(|log| String::from_utf8(log).unwrap());
    for part in parts() {
        let task = run.task(&part.name);
        let codes: Vec<&str> = task.attempts.iter().map(|one| one.code.as_deref().unwrap_or("-")).collect();
        let (status, attempts, log) = match part.kind {
            Kind::Gate | Kind::Replaces => ("done, claimed", vec!["-"], "before\n"),
            Kind::Appends | Kind::Careful => ("done, claimed", vec!["-"], "before\nline\nmore\n"),
            Kind::Fails => ("done, claimed", vec!["E_UNKNOWN", "-"], "before\nline\nline\n"),
            Kind::FallsBack => ("done, claimed", vec!["E_MODEL_UNAVAILABLE", "-"], "before\nline\nline\n"),
            Kind::Checked => ("done, verified", vec!["-"], "before\n"),
            Kind::RolledBack => ("failed", vec!["E_UNKNOWN", "E_UNKNOWN"], "before\n"),
            Kind::Costly => ("failed", vec!["E_COST_LIMIT_EXCEEDED"], "before\nline\nmore\n"),
            Kind::Skipped => ("canceled", vec![], "before\n"),
        };
        assert_eq!((task.status.as_str(), codes), (status, attempts), "{}", part.name);
        assert_eq!(text(&part).as_deref(), Some(log), "{}", part.name);
    }
    assert_eq!(run.tasks.len(), 30);
}
