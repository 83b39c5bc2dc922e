//! Whole runs through `engine::drive` on a real store, with children that die, lie, flood and hang, engines that crash
//! at any call they make, people who interfere, and clocks that jump. Nothing sleeps and no process is started.

mod child;
mod invariants;
mod launcher;
mod plan;
mod seams;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::policy::Policy;
use contract::domain::request::{Agent, RequestId};
use contract::domain::run::{DocumentKind, RunId};
use engine::{DriveEnd, Executors, Settings, StopSignal, drive};
use ops::Session;
use ops::run::{accept, cancel};
use ops::{Caller, Context};
use tempfile::TempDir;
use testkit::{ManualClock, SeededIds};

use super::dice::Dice;
use engine::launcher::Launcher;
use engine::settings::{EngineArchive, ModelSettings, WaitLimits};
use launcher::{SimulatedLauncher, bystander, host_of};
use seams::{Crash, Fuse, FusedClock, FusedIds, FusedObserver};
use world::World;

const SEEDS: u64 = 2_000;
/// Small enough that each has ended long before the test runner calls it stuck.
const PARTS: u64 = 20;
/// One seed in so many is also replayed from its log: that takes as long as the run itself.
const REPLAYED: u64 = 11;
/// Longer than any lease.
const LEASES_MAX: Duration = Duration::from_mins(1);
/// More engines than any run here needs.
const ENGINES_MAX: u32 = 60;

/// A store with its schema, to be copied: making one takes longer than working a run.
struct Bench {
    directory: TempDir,
}

impl Bench {
    /// In memory where the system has such a place: a simulated crash does not lose what was written.
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("writ-runs-");
        let directory = if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() };
        let bench = Self { directory: directory.unwrap() };
        let (clock, ids) = (Arc::new(ManualClock::new()), Box::new(SeededIds::new(1)));
        drop(Context::open(&bench.empty(), clock, ids, bystander(&Arc::default())).unwrap());
        bench
    }

    fn empty(&self) -> PathBuf {
        self.directory.path().join("empty.db")
    }

    /// A place for one seed.
    fn place(&self) -> TempDir {
        let place = tempfile::Builder::new().prefix("seed-").tempdir_in(self.directory.path()).unwrap();
        std::fs::copy(self.empty(), place.path().join("writ.db")).unwrap();
        std::fs::copy(self.empty().with_extension("db.key"), place.path().join("writ.db.key")).unwrap();
        std::fs::create_dir(place.path().join("workspace")).unwrap();
        place
    }
}

/// One seed's runs, and everything around them.
struct Simulation {
    place: TempDir,
    world: Arc<Mutex<World>>,
    runs: Vec<RunId>,
    engines: u32,
    crashes_left: u64,
    /// A person had interrupted tasks run again.
    a_person_reran: bool,
}

impl Simulation {
    fn new(bench: &Bench, seed: u64) -> Self {
        let place = bench.place();
        let dice = Dice::new(seed);
        let (workspace, store) = (place.path().join("workspace"), place.path().join("writ.db"));
        let mut world = World::new(dice, workspace, store);
        let crashes_left = world.dice.below(5);
        world.disturbances_left = u32::try_from(world.dice.below(4)).unwrap();
        let count = if world.dice.one_in(3) { 2 } else { 1 };
        let mut simulation = Self {
            place,
            world: Arc::new(Mutex::new(world)),
            runs: Vec::new(),
            engines: 0,
            crashes_left,
            a_person_reran: false,
        };
        (0..count).for_each(|number| simulation.submit(number));
        simulation
    }

    fn roll<T>(&self, with: impl FnOnce(&mut World) -> T) -> T {
        with(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn open(&self) -> Context {
        let (clock, seed, engines) =
            self.roll(|world| (world.clock.clone(), world.dice.below(u64::MAX), Arc::clone(&world.engines)));
        let store = self.place.path().join("writ.db");
        let ids = Box::new(SeededIds::new(seed));
        Context::open(&store, Arc::new(clock), ids, bystander(&engines)).unwrap()
    }

    fn key(&self) -> Session {
        let number = self.roll(|world| world.dice.below(u64::MAX));
        let caller = Caller::human(Agent::parse("tester").unwrap());
        Session::new(caller, RequestId::parse(&format!("k{number}")).unwrap())
    }

    fn submit(&mut self, number: u64) {
        let plan = self.roll(|world| plan::random(&mut world.dice, &format!("r{number}t")));
        let mut cx = self.open();
        let request = accept::Submission {
            kind: DocumentKind::Plan,
            objective: plan.objective.clone(),
            workspace: self.place.path().join("workspace").to_str().unwrap().to_owned(),
            intent: None,
            corr: None,
            depth: 1,
            parent_run: None,
            parent_task: None,
            document_digest: format!("sha256:{number}"),
            aop: accept::AopSubmission::default(),
            plan,
        };
        let run = accept::submit(&mut cx, &self.key(), &request).unwrap().answer.run_id;
        let tasks = ops::run::show::tasks(&mut cx, &run).unwrap();
        self.roll(|world| {
            world.writes.extend(request.plan.tasks.into_iter().map(|task| (task.id, task.writes)));
            world.cancelable.push(run.to_string());
            world.cancelable.extend(tasks.iter().map(|task| task.id.to_string()));
        });
        self.runs.push(run);
    }

    /// Engines come and go until every run has ended.
    fn work(&mut self) {
        let mut left: Vec<RunId> = self.runs.clone();
        while !left.is_empty() {
            let index = self.roll(|world| world.dice.below(u64::try_from(left.len()).unwrap()));
            let index = usize::try_from(index).unwrap();
            assert!(self.engines < ENGINES_MAX, "{} does not come to an end", left[index]);
            if self.work_once(&left[index].clone()) {
                left.remove(index);
            }
        }
    }

    /// One engine works the run as far as it gets. True when the run has ended.
    fn work_once(&mut self, run: &RunId) -> bool {
        let reruns = self.engines > 10 || self.roll(|world| world.dice.one_in(6));
        self.a_person_reran |= reruns;
        match self.with_engine(run, reruns) {
            Err(Crash) => {
                let engine = self.engines;
                self.roll(|world| {
                    let fate = world.dice.below(4);
                    let mut engines = world.engines.lock().unwrap_or_else(PoisonError::into_inner);
                    engines.alive = None;
                    engines.unseen.extend((fate == 0).then_some(engine));
                    drop(engines);
                    world.tell("crash".to_owned());
                    match fate {
                        0 => world.end_unlocked(engine),
                        1 => world.stop_engine(engine),
                        _ => {}
                    }
                });
                false
            }
            // The engine before it is stopped, cannot be seen, or left something behind.
            Ok(Err(error)) => {
                let expected = [ErrorCode::HeldByAnother, ErrorCode::Timeout];
                assert!(expected.contains(&error.code), "{error:?}");
                if error.message.contains("cannot be seen") {
                    self.release_by_force(run);
                }
                false
            }
            Ok(Ok(DriveEnd::Ended(_))) => true,
            Ok(Ok(DriveEnd::Interrupted { .. })) => false,
            Ok(Ok(DriveEnd::Stopped(_))) => {
                // It waits for a person, who gives up sometimes, and always in the end.
                if self.engines > 20 || self.roll(|world| world.dice.one_in(3)) {
                    self.cancel(run);
                }
                false
            }
        }
    }

    /// A person goes to the other machine, ends everything there, and takes the locks.
    fn release_by_force(&mut self, run: &RunId) {
        self.roll(World::clean_elsewhere);
        let mut cx = self.open();
        let request = ops::lock::list::Request { run: Some(run.to_string()), history: false };
        let held = ops::lock::list::list(&mut cx, &request).unwrap().locks;
        let names: BTreeSet<String> = held.into_iter().map(|lock| lock.held.reference.to_string()).collect();
        for task in names {
            let reason = "that container was deleted".to_owned();
            let request = ops::lock::force::Request { run: run.to_string(), task, reason };
            let forced = ops::lock::force::force(&mut cx, &self.key(), &request);
            // Another holder of the run may be stopped or have left something; the next engine meets it.
            self.roll(|world| world.tell(format!("forced {}: {}", request.task, forced.is_ok())));
        }
    }

    fn with_engine(&mut self, run: &RunId, rerun_parked: bool) -> Result<ops::Result<DriveEnd>, Crash> {
        self.engines += 1;
        let engine = self.engines;
        let fuse = Fuse::new(self.next_crash());
        let stop = StopSignal::default();
        let (clock, seed, story, engines) = self.roll(|world| {
            world.engines.lock().unwrap_or_else(PoisonError::into_inner).alive = Some(engine);
            world.stop = stop.clone();
            world.tell(format!("engine {engine} takes {run}"));
            let shared = (Arc::clone(&world.story), Arc::clone(&world.engines));
            (world.clock.clone(), world.dice.below(u64::MAX), shared.0, shared.1)
        });
        let world = Arc::clone(&self.world);
        let launcher = Arc::new(SimulatedLauncher { engine, fuse: fuse.clone(), world, engines });
        let settings = Settings {
            launcher: Arc::clone(&launcher) as Arc<dyn Launcher>,
            executors: Executors::built_in(),
            archive: EngineArchive {
                logs: self.place.path().to_owned(),
                snapshots: engine::snapshots::Snapshots::default(),
                worktrees: engine::worktree::Worktrees::default(),
            },
            models: ModelSettings::default(),
            waits: WaitLimits { locks: Duration::from_mins(2), provider: Duration::from_mins(2) },
            index: engine::index::Index::default(),
            policy: Policy::default(),
            sandbox: engine::sandbox::SandboxSettings::default(),
            environment: BTreeMap::new(),
            ceiling: None,
            doors: None,
            stop,
            rerun_parked,
            audit: contract::intake::AuditFiles::default(),
        };
        let store = self.place.path().join("writ.db");
        let worked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let clock = Arc::new(FusedClock(clock, fuse.clone()));
            let ids = Box::new(FusedIds(SeededIds::new(seed), fuse.clone()));
            let mut cx = Context::open(&store, clock, ids, host_of(launcher)).unwrap();
            let mut observer = FusedObserver { fuse: fuse.clone(), story };
            drive(&mut cx, &settings, run, &mut observer)
        }));
        worked.map_err(|thrown| match thrown.downcast::<Crash>() {
            Ok(crash) => *crash,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// At which call the next engine crashes, if it does. Early ones are as likely as late ones.
    fn next_crash(&mut self) -> Option<u64> {
        if self.crashes_left == 0 {
            return None;
        }
        self.crashes_left -= 1;
        Some(self.roll(|world| {
            let within = world.dice.pick(&[30, 100, 300, 1_000, 3_000]);
            1 + world.dice.below(within)
        }))
    }

    fn cancel(&mut self, run: &RunId) {
        let mut cx = self.open();
        let request = cancel::Request { id: run.to_string(), reason: None };
        cancel::cancel(&mut cx, &self.key(), &request).unwrap();
    }

    fn check(&self, is_replayed: bool) {
        let mut cx = self.open();
        // A run that is canceled after its engine died leaves its locks to their leases: children may live a moment
        // longer than their engine.
        self.roll(|world| {
            world.end_everything();
            world.clock.advance(LEASES_MAX);
        });
        ops::watchdog::tick(&mut cx, &self.key().caller).unwrap();
        for run in &self.runs {
            self.roll(|world| invariants::check_run(&mut cx, world, run, self.a_person_reran));
        }
        if is_replayed {
            invariants::check_log(&mut cx);
        }
    }

    fn story(&self) -> Vec<String> {
        self.roll(|world| world.story.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

#[expect(clippy::print_stdout, reason = "the story of a seed that failed is shown with the failed test")]
fn simulate(bench: &Bench, seed: u64) -> Vec<String> {
    let mut simulation = Simulation::new(bench, seed);
    let worked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        simulation.work();
        simulation.check(seed.is_multiple_of(REPLAYED));
    }));
    if let Err(panic) = worked {
        println!("seed {seed}:\n{}", simulation.story().join("\n"));
        std::panic::resume_unwind(panic);
    }
    simulation.story()
}

fn part(number: u64) {
    let bench = Bench::new();
    let bench = AssertUnwindSafe(&bench);
    super::each_seed(SEEDS, PARTS, number, move |seed| drop(simulate(*bench, seed)));
}

#[test]
fn soak_no_run_of_a_fresh_seed_breaks_an_invariant() {
    let bench = Bench::new();
    let bench = AssertUnwindSafe(&bench);
    super::fresh_seeds(5, move |seed| drop(simulate(*bench, seed)));
}

macro_rules! parts {
    ($($name:ident = $number:literal;)*) => {
        $(
            #[test]
            fn $name() {
                part($number);
            }
        )*
    };
}

parts! {
    no_run_of_part_0_breaks_an_invariant = 0;
    no_run_of_part_1_breaks_an_invariant = 1;
    no_run_of_part_2_breaks_an_invariant = 2;
    no_run_of_part_3_breaks_an_invariant = 3;
    no_run_of_part_4_breaks_an_invariant = 4;
    no_run_of_part_5_breaks_an_invariant = 5;
    no_run_of_part_6_breaks_an_invariant = 6;
    no_run_of_part_7_breaks_an_invariant = 7;
    no_run_of_part_8_breaks_an_invariant = 8;
    no_run_of_part_9_breaks_an_invariant = 9;
    no_run_of_part_10_breaks_an_invariant = 10;
    no_run_of_part_11_breaks_an_invariant = 11;
    no_run_of_part_12_breaks_an_invariant = 12;
    no_run_of_part_13_breaks_an_invariant = 13;
    no_run_of_part_14_breaks_an_invariant = 14;
    no_run_of_part_15_breaks_an_invariant = 15;
    no_run_of_part_16_breaks_an_invariant = 16;
    no_run_of_part_17_breaks_an_invariant = 17;
    no_run_of_part_18_breaks_an_invariant = 18;
    no_run_of_part_19_breaks_an_invariant = 19;
}

#[test]
fn a_seed_always_tells_the_same_story_of_its_runs() {
    let bench = Bench::new();
    for seed in 0..20 {
        assert_eq!(simulate(&bench, seed), simulate(&bench, seed), "seed {seed}");
    }
    assert_ne!(simulate(&bench, 7), simulate(&bench, 8));
}
