//! The world around simulated engines: time, children, the files they make, and other people.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::domain::process::Remains;
use contract::domain::request::{Agent, RequestId};
use contract::domain::scope::Scope;
use contract::domain::time::Clock;
use engine::StopSignal;
use engine::supervisor::{ChildReport, Gone, LaunchSpec, ProcessExit};
use ops::Session;
use ops::run::cancel;
use ops::{Caller, Context};
use testkit::{ManualClock, SeededIds};

use super::child::{self, Act, Script};
use super::launcher::{Engines, bystander};
use crate::simulation::dice::Dice;

/// How long an orphan can live: its shim sees that its engine is dead, and has this long.
const ORPHAN_MS_MAX: u64 = 10_000;
/// How long one lives that nobody ends.
const SURVIVOR_MS: u64 = 86_400_000;
const DAY_MS: i64 = 86_400_000;

/// A process: the number of its group, and its number in it.
type Name = (u64, u64);

pub(super) enum Happening {
    Report(u64, ChildReport),
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessKind {
    Work,
    Check,
}

struct Process {
    engine: u32,
    task: String,
    kind: ProcessKind,
    attempt: String,
    /// What it does next, at these times.
    future: VecDeque<(i64, Act)>,
    script_claims_success: bool,
    ignores_stop: bool,
    has_exited: bool,
    /// Its engine is gone, and it dies at this time.
    dies_at_ms: Option<i64>,
}

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) clock: ManualClock,
    pub(super) story: Arc<Mutex<Vec<String>>>,
    pub(super) workspace: PathBuf,
    pub(super) store: PathBuf,
    pub(super) engines: Arc<Mutex<Engines>>,
    pub(super) stop: StopSignal,
    /// What each task writes.
    pub(super) writes: BTreeMap<String, Vec<Scope>>,
    /// Ids of runs and tasks that somebody may cancel.
    pub(super) cancelable: Vec<String>,
    /// How often somebody may still interfere.
    pub(super) disturbances_left: u32,
    /// Tasks whose work was really done.
    pub(super) finished: BTreeSet<String>,
    /// Attempts whose executors were started.
    pub(super) started: BTreeSet<String>,
    /// Attempts whose executors ended with a claim of success.
    pub(super) claimed: BTreeSet<String>,
    processes: BTreeMap<Name, Process>,
    groups: u64,
    /// How long the machine was asleep.
    slept_ms: i64,
}

/// Where tasks without a scope leave their files. Git ignores it: nobody could tell whose they are.
const UNSCOPED: &str = "made";

/// Where the work of a task leaves its file: inside its scope.
pub(super) fn artifact(task: &str, writes: &[Scope]) -> String {
    format!("{}/{task}", writes.first().map_or(UNSCOPED, Scope::as_str))
}

impl World {
    pub(super) fn new(dice: Dice, workspace: PathBuf, store: PathBuf) -> Self {
        std::fs::write(workspace.join(".gitignore"), format!("/{UNSCOPED}\n")).unwrap();
        Self {
            dice,
            clock: ManualClock::new(),
            story: Arc::default(),
            workspace,
            store,
            engines: Arc::default(),
            stop: StopSignal::default(),
            writes: BTreeMap::new(),
            cancelable: Vec::new(),
            disturbances_left: 0,
            finished: BTreeSet::new(),
            started: BTreeSet::new(),
            claimed: BTreeSet::new(),
            processes: BTreeMap::new(),
            groups: 0,
            slept_ms: 0,
        }
    }

    pub(super) fn tell(&self, text: String) {
        self.story.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn now_ms(&self) -> i64 {
        self.clock.now().boot.millis
    }

    pub(super) fn new_group(&mut self) -> u64 {
        self.groups += 1;
        self.groups
    }

    /// Starts a child, if it can be started.
    pub(super) fn start(&mut self, engine: u32, name: Name, spec: &LaunchSpec) -> bool {
        self.bury();
        let words: Vec<String> = spec.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let task = words[1].clone();
        let kind = if words[0] == "work" { ProcessKind::Work } else { ProcessKind::Check };
        let attempt = spec.marker.attempt.to_string();
        self.refuse_company(&task, kind);
        if kind == ProcessKind::Work {
            assert!(self.started.insert(attempt.clone()), "{attempt} was started twice");
        }
        let script = match kind {
            ProcessKind::Work => child::work(&mut self.dice, spec),
            ProcessKind::Check => child::check(&mut self.dice, &words[3], self.finished.contains(&task)),
        };
        self.tell(format!("start {} of {attempt}: {}", words.join(" "), script.is_some()));
        let Some(Script { steps, ignores_stop, claims_success }) = script else { return false };
        let mut at_ms = self.now_ms();
        let mut future = VecDeque::new();
        for (after_ms, act) in steps {
            at_ms += after_ms;
            future.push_back((at_ms, act));
        }
        let process = Process {
            engine,
            task,
            kind,
            attempt,
            future,
            script_claims_success: claims_success,
            ignores_stop,
            has_exited: false,
            dies_at_ms: None,
        };
        self.processes.insert(name, process);
        true
    }

    /// No two processes of one task at once, and nobody writes where somebody else does.
    fn refuse_company(&self, task: &str, kind: ProcessKind) {
        for other in self.processes.values() {
            assert_ne!(other.task, task, "two processes of {task} at once");
            let overlaps = |a: &Scope| self.writes[&other.task].iter().any(|b| a.overlaps(b));
            if kind == ProcessKind::Work && other.kind == ProcessKind::Work {
                assert!(!self.writes[task].iter().any(overlaps), "{task} and {} write the same", other.task);
            }
        }
    }

    /// Waits for the next thing that a child of the group does.
    pub(super) fn next(&mut self, group: u64, patience: Duration) -> Happening {
        let until_ms = self.now_ms() + i64::try_from(patience.as_millis()).unwrap();
        loop {
            let mine =
                self.processes.iter().filter(|((of, _), process)| *of == group && !process.future.is_empty());
            let first = mine.map(|(name, process)| (process.future[0].0, *name)).min();
            let Some((at_ms, name)) = first.filter(|(at_ms, _)| *at_ms <= until_ms) else {
                self.oversleep(patience, first.map(|(at_ms, _)| at_ms));
                return Happening::Nothing;
            };
            let now_ms = self.now_ms();
            if at_ms > now_ms {
                self.clock.advance(Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap()));
            }
            let process = self.processes.get_mut(&name).expect("BUG: found a line above");
            let (_, act) = process.future.pop_front().expect("BUG: found a line above");
            match act {
                Act::Finish => {
                    let task = process.task.clone();
                    self.finish(&task);
                }
                Act::Report(report) => return self.report(name, report),
            }
        }
    }

    fn report(&mut self, name: Name, report: ChildReport) -> Happening {
        let process = self.processes.get_mut(&name).expect("BUG: it reports");
        process.has_exited |= matches!(report, ChildReport::Exited(_));
        if process.kind == ProcessKind::Work
            && process.script_claims_success
            && matches!(report, ChildReport::Gone(_))
        {
            self.claimed.insert(process.attempt.clone());
        }
        if report.is_last() {
            self.processes.remove(&name);
        }
        Happening::Report(name.1, report)
    }

    fn finish(&mut self, task: &str) {
        let path = self.workspace.join(artifact(task, &self.writes[task]));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "made\n").unwrap();
        self.finished.insert(task.to_owned());
        self.tell(format!("finished {task}"));
    }

    /// An idle waiter wakes up late on a busy machine, but not after the event it waits for.
    fn oversleep(&mut self, patience: Duration, next_ms: Option<i64>) {
        let late = Duration::from_millis(self.dice.pick(&[0, 200, 1_000, 4_000]));
        let left = next_ms.map_or(Duration::MAX, |at_ms| {
            Duration::from_millis(u64::try_from(at_ms - self.now_ms()).unwrap_or(0))
        });
        self.clock.advance((patience + late).min(left.max(patience)));
    }

    pub(super) fn pass(&mut self, length: Duration) {
        self.oversleep(length, None);
        self.bury();
    }

    pub(super) fn stop(&mut self, name: Name) {
        let now_ms = self.now_ms();
        let lasts_ms = self.dice.pick(&[1, 50, 1_000]);
        let Some(process) = self.processes.get_mut(&name) else { return };
        if process.future.iter().any(|(_, act)| matches!(act, Act::Report(ChildReport::Exited(_))))
            && lasts_ms == 1
        {
            // It was about to end anyway.
            return;
        }
        let (exit, after_ms) = if process.ignores_stop {
            (ProcessExit::Signal(9), 2_000)
        } else {
            (ProcessExit::Signal(15), lasts_ms)
        };
        process.end_with(exit, now_ms + after_ms);
    }

    pub(super) fn kill(&mut self, name: Name) {
        let now_ms = self.now_ms();
        if let Some(process) = self.processes.get_mut(&name) {
            process.end_with(ProcessExit::Signal(9), now_ms + 1);
        }
    }

    pub(super) fn end_group(&mut self, group: u64) {
        self.processes.retain(|(of, _), _| *of != group);
    }

    /// The group was dropped with its engine: what is left of it dies within a time.
    pub(super) fn abandon(&mut self, group: u64) {
        let now_ms = self.now_ms();
        for ((of, _), process) in &mut self.processes {
            if *of == group {
                let left_ms = match self.dice.below(4) {
                    0 | 1 => 0,
                    2 => self.dice.below(ORPHAN_MS_MAX),
                    // Its shim died too, or cannot act.
                    _ => SURVIVOR_MS,
                };
                process.dies_at_ms = Some(now_ms + i64::try_from(left_ms).unwrap());
            }
        }
        self.bury();
    }

    pub(super) fn end_leftovers(&mut self, by: u32) {
        self.bury();
        let engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        let stays = |engine: u32| engines.unseen.contains(&engine) || engines.stopped.contains_key(&engine);
        self.processes.retain(|_, process| process.engine == by || stays(process.engine));
    }

    /// Ends what a dead engine left behind. Sometimes that does not succeed at once.
    pub(super) fn settle(&mut self, engine: u32) -> Remains {
        self.bury();
        let has_children = self.processes.values().any(|process| process.engine == engine);
        if has_children && self.dice.one_in(4) {
            return Remains::Left;
        }
        self.processes.retain(|_, process| process.engine != engine);
        Remains::Gone
    }

    /// An engine is stopped: its process exists, and what it started goes on.
    pub(super) fn stop_engine(&mut self, engine: u32) {
        let until_ms = self.now_ms() + self.dice.pick(&[1_000, 30_000, 90_000]);
        self.engines.lock().unwrap_or_else(PoisonError::into_inner).stopped.insert(engine, until_ms);
        self.tell(format!("engine {engine} is stopped"));
    }

    /// Without locks only the lease tells when a task of an engine that nobody can see may run again. writ assumes that
    /// such an engine's shims have ended everything by then.
    pub(super) fn end_unlocked(&mut self, engine: u32) {
        let latest_ms = self.now_ms() + i64::try_from(ORPHAN_MS_MAX).unwrap();
        for process in self.processes.values_mut() {
            if process.engine == engine && self.writes[&process.task].is_empty() {
                process.dies_at_ms = process.dies_at_ms.map(|at_ms| at_ms.min(latest_ms));
            }
        }
    }

    /// A person makes sure that nothing of the engines runs that nobody can see.
    pub(super) fn clean_elsewhere(&mut self) {
        let unseen = self.engines.lock().unwrap_or_else(PoisonError::into_inner).unseen.clone();
        self.processes.retain(|_, process| !unseen.contains(&process.engine));
        self.note_children();
    }

    /// In the end every engine is dead, nothing of it is left, and everybody can see that.
    pub(super) fn end_everything(&mut self) {
        self.processes.clear();
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.alive = None;
        engines.stopped.clear();
        engines.unseen.clear();
        engines.with_children.clear();
    }

    fn note_children(&mut self) {
        let with_children = self.processes.values().map(|process| process.engine).collect();
        self.engines.lock().unwrap_or_else(PoisonError::into_inner).with_children = with_children;
    }

    /// Orphans whose time is over are gone. Some of them finished their work before.
    fn bury(&mut self) {
        let now_ms = self.now_ms();
        let dead = |process: &Process| process.dies_at_ms.is_some_and(|at_ms| at_ms <= now_ms);
        let gone: Vec<Name> = self.processes.iter().filter(|(_, p)| dead(p)).map(|(name, _)| *name).collect();
        for name in gone {
            let process = self.processes.remove(&name).expect("BUG: found a line above");
            let died_ms = process.dies_at_ms.unwrap_or(now_ms);
            let finished =
                process.future.iter().any(|(at_ms, act)| matches!(act, Act::Finish) && *at_ms <= died_ms);
            if finished {
                self.finish(&process.task);
            }
        }
    }

    /// What other people and the machine do meanwhile.
    pub(super) fn disturb(&mut self) {
        let now_ms = self.now_ms();
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.stopped.retain(|_, until_ms| *until_ms > now_ms);
        drop(engines);
        if self.disturbances_left == 0 || !self.dice.one_in(12) {
            return;
        }
        self.disturbances_left -= 1;
        match self.dice.below(8) {
            0 => self.clock.jump_wall(DAY_MS),
            1 => self.clock.jump_wall(-DAY_MS),
            2 => {
                let seconds = self.dice.pick(&[10, 60, 3_600]);
                self.sleep(seconds);
            }
            3 => {
                self.stop.raise(15);
                if self.dice.one_in(3) {
                    self.stop.raise(15);
                }
            }
            4 | 5 => self.cancel_something(),
            6 => self.sweep(),
            _ => {
                self.sleep(25);
                self.sweep();
            }
        }
    }

    /// The machine sleeps. The boot clock goes on, the monotonic one does not.
    fn sleep(&mut self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.slept_ms += i64::try_from(seconds).unwrap() * 1000;
        self.tell(format!("the machine slept for {seconds} s"));
    }

    pub(super) fn monotonic_ms(&self) -> i64 {
        self.now_ms() - self.slept_ms
    }

    /// Another process opens the store. It could not write if an engine waited inside a transaction.
    fn outside(&mut self) -> (Context, Session) {
        self.note_children();
        let ids = SeededIds::new(self.dice.below(u64::MAX));
        let cx =
            Context::open(&self.store, Arc::new(self.clock.clone()), Box::new(ids), bystander(&self.engines))
                .unwrap();
        cx.wait_at_most(Duration::from_millis(10)).unwrap();
        let caller = Caller::human(Agent::parse("somebody").unwrap());
        let request_id = RequestId::parse(&format!("r{}", self.dice.below(u64::MAX))).unwrap();
        (cx, Session::new(caller, request_id))
    }

    fn cancel_something(&mut self) {
        let count = u64::try_from(self.cancelable.len()).unwrap();
        let id = self.cancelable[usize::try_from(self.dice.below(count)).unwrap()].clone();
        let (mut cx, key) = self.outside();
        let request = cancel::Request { id: id.clone(), reason: None };
        let canceled = cancel::cancel(&mut cx, &key, &request);
        // What has ended cannot be canceled.
        self.tell(format!("cancel {id}: {}", canceled.is_ok()));
    }

    fn sweep(&mut self) {
        let (mut cx, key) = self.outside();
        ops::watchdog::tick(&mut cx, &key.caller).unwrap();
        self.tell("sweep".to_owned());
    }
}

impl Process {
    /// It ends in this way and does nothing else before.
    fn end_with(&mut self, exit: ProcessExit, at_ms: i64) {
        if self.has_exited {
            return;
        }
        self.script_claims_success = false;
        let mut at_ms = at_ms;
        self.future.clear();
        for (after_ms, act) in child::end(exit, Gone::default(), 0) {
            at_ms += after_ms;
            self.future.push_back((at_ms, act));
        }
    }
}
