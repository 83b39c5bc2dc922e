//! Thirty-two processes work as one crew on one store, and are killed at any moment. Then the log has to account for
//! everything.

mod checker;
mod worker;

use std::path::Path;
use std::sync::Arc;

use contract::domain::check::{Check, Expects};
use contract::domain::money::MicroUsd;
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::scope::Scope;
use contract::domain::time::{BootTime, Clock, Now, Timestamp};
use ops::{Context, budget, ledger, run};
use testkit::{Background, Cli, Scratch, SeededIds, eventually, rounds};

use crate::host::TestHost;
use crate::world::{key, submit};

const ROLE: &str = "WRIT_OPS_TEST_SEED";
const PLACE: &str = "WRIT_OPS_TEST_PLACE";

const PROCESSES: usize = 32;
const TASKS: usize = 60;
pub(super) const SHARE: i64 = 10;
/// More than all of them at once may spend, so that money is not what stops the work.
const LIMIT: i64 = 1_000_000;

/// The machine's boot clock, twenty times as fast: workers fall silent while the test can still wait.
#[derive(Debug, Clone, Copy)]
struct FastClock;

impl Clock for FastClock {
    fn now(&self) -> Now {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let hundredths: i64 = text.split_whitespace().next().unwrap().replace('.', "").parse().unwrap();
        let millis = hundredths * 10 * 20;
        let boot = BootTime { boot_id: "boot-1".to_owned(), millis };
        Now { at: Timestamp::from_millis(1_767_268_800_000 + millis), boot }
    }
}

fn open(place: &Path, seed: u64) -> Context {
    TestHost::new().open(&place.join("writ.db"), Arc::new(FastClock), seed)
}

/// Scopes that often lie in each other.
fn scope(index: usize) -> String {
    let parts = [["a", "b", "c"][index % 3], ["x", "y"][index % 2], ["1", "2", "3", "4", "5"][index % 5]];
    parts[..=(index % 7).min(2)].join("/")
}

/// A ledger whose tasks have a check each, and money for all of it.
fn prepare(place: &Path) -> String {
    let mut cx = open(place, 1);
    let mut tasks = Vec::new();
    for index in 0..TASKS {
        let mut task = PlanTask::minimal(&format!("t{index}"));
        task.writes = vec![Scope::parse(&scope(index), None).unwrap()];
        task.timeout_ms = 40_000;
        task.budget.cost = Some(MicroUsd(SHARE));
        task.checks =
            vec![Check { command: vec!["true".to_owned()], shell: false, expects: Expects::default() }];
        tasks.push(task);
    }
    let plan =
        Plan { objective: "a storm".to_owned(), workspace: None, max_parallel: 1, tasks, ..Plan::default() };
    let request = run::accept::Submission { plan, workspace: "/storm".to_owned(), ..submit(&["storm"]) };
    let opened = ledger::open::open_submission(&mut cx, &key("person", "open"), &request).unwrap();
    let run = opened.answer.run_id;
    let limit = budget::set::Request { run: run.clone(), cost: Some(MicroUsd(LIMIT)), tokens: Some(0) };
    budget::set::set(&mut cx, &key("person", "budget"), &limit).unwrap();
    run
}

#[test]
fn soak_thirty_two_processes_share_one_store_and_are_killed_at_random() {
    let scratch = Scratch::new();
    let place = scratch.dir("storm");
    let run = prepare(&place);
    let own = Cli::new(std::env::current_exe().unwrap());
    let mut seed = 0;
    let mut start = || {
        seed += 1;
        let call = own.call(["--exact", "storm::plays_its_part", "--nocapture"]);
        call.env(ROLE, seed.to_string()).env(PLACE, format!("{}\n{run}", place.display())).spawn()
    };
    let mut crew: Vec<Background<'_>> = (0..PROCESSES).map(|_| start()).collect();
    let mut chance = SeededIds::surprising();
    for _ in 0..rounds(16) {
        let index = usize::try_from(chance.below(PROCESSES as u64)).unwrap();
        let victim = crew.swap_remove(index);
        let wanted = usize::try_from(chance.below(6)).unwrap();
        let mut victim = victim;
        eventually("a worker works", || {
            victim.stdout().matches("\n> ").count() >= wanted || !victim.is_running()
        });
        drop(victim.kill_nine());
        crew.push(start());
    }
    for worker in crew {
        let output = worker.wait();
        output.success();
    }
    let told = checker::check(&place, &run);
    // Everything that is to be shown has to have happened.
    let enough =
        told.grants > 60 && told.results > 20 && told.verified > 0 && told.timeouts > 0 && told.stale > 0;
    assert!(enough, "{told:?}");
    let kills = u64::from(rounds(16));
    let operations = u64::from(told.grants + told.results);
    testkit::Storm { rounds: kills, operations, kills, seed: None }.report();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that is another's child is told so by its environment")]
fn plays_its_part() {
    let (Ok(seed), Ok(place)) = (std::env::var(ROLE), std::env::var(PLACE)) else { return };
    let (place, run) = place.split_once('\n').unwrap();
    worker::work(Path::new(place), run, seed.parse().unwrap());
}
