//! The control plane of the simulation: the product's own decisions, and a world in memory around them.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::crew::lock::{HeldLock, LockMode, admit, lease, obstacle};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::{BootTime, Now, Timestamp};
use contract::operator::Delta;
use contract::operator::ledger::{DeltaOptions, Ledger};
use engine::scheduler::{Board, BoardStep, Slot};

use super::dice::Dice;
use super::worker::{Character, Message, Worker};

const TIMEOUT: Duration = Duration::from_secs(60);
const SCOPES: [&str; 6] = ["src", "src/a", "src/b", "docs", "tests", "."];
const WORKSPACE: &str = "/w";
const DAY_MILLIS: i64 = 86_400_000;

#[derive(Debug)]
pub(super) struct Plane {
    now: Now,
    ledger: Ledger,
    names: Vec<TaskRef>,
    /// Minted once: every tick compares them a hundred times.
    ids: Vec<TaskId>,
    scopes: Vec<Scope>,
    needs: Vec<Vec<usize>>,
    passed_over: Vec<u32>,
    locks: Vec<HeldLock>,
    last_token: i64,
    workers: Vec<Worker>,
    started: usize,
    deltas: u64,
    /// Which token brought each task to its end.
    evidence: BTreeMap<usize, i64>,
    all_are_well: bool,
    /// How many locks of other runs there were so far.
    strangers: usize,
    /// Until when each task must not be started, on the boot clock.
    not_before_ms: Vec<i64>,
}

fn run_id() -> RunId {
    Id::from_bits(1)
}

fn task_id(task: usize) -> TaskId {
    Id::from_bits(100 + task as u128)
}

/// A worker of another run in the same workspace.
fn stranger_id(number: usize) -> TaskId {
    Id::from_bits(1_000_000 + number as u128)
}

fn is_stranger(lock: &HeldLock) -> bool {
    lock.workspace != WORKSPACE
}

impl Plane {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let tasks = 3 + usize::try_from(dice.below(4)).unwrap();
        let boot = BootTime { boot_id: "boot".to_owned(), millis: 1_000_000 };
        let mut plane = Plane {
            now: Now { at: Timestamp::from_millis(1_767_268_800_000), boot },
            ledger: Ledger::default(),
            names: (0..tasks).map(|n| TaskRef::parse(&format!("T-{}", n + 1)).unwrap()).collect(),
            ids: (0..tasks).map(task_id).collect(),
            scopes: (0..tasks).map(|_| Scope::parse(dice.pick(&SCOPES), None).unwrap()).collect(),
            needs: Vec::new(),
            passed_over: vec![0; tasks],
            locks: Vec::new(),
            last_token: 0,
            workers: Vec::new(),
            started: 0,
            deltas: 0,
            evidence: BTreeMap::new(),
            all_are_well: false,
            strangers: 0,
            not_before_ms: vec![0; tasks],
        };
        for task in 0..tasks {
            plane.needs.push((0..task).filter(|_| dice.one_in(3)).collect());
            plane.step(task, Status::Todo, "", |_| {});
        }
        plane
    }

    pub(super) fn everybody_recovers(&mut self) {
        self.all_are_well = true;
    }

    pub(super) fn is_finished(&self) -> bool {
        (0..self.names.len()).all(|task| self.status(task) == Status::Done)
    }

    /// A moment passes, the watchdog looks, the scheduler gives out what it can, and the workers speak.
    pub(super) fn tick(&mut self, dice: &mut Dice) {
        let seconds = if dice.one_in(6) { 70 } else { 5 + i64::try_from(dice.below(15)).unwrap() };
        self.now.boot.millis += seconds * 1000;
        let jump = if dice.one_in(10) { dice.pick(&[DAY_MILLIS, -DAY_MILLIS]) } else { 0 };
        self.now.at = Timestamp::from_millis(self.now.at.millis() + seconds * 1000 + jump);
        self.hear(dice);
        self.sweep(dice);
        self.strangers_come_and_go(dice);
        self.schedule(dice);
        self.check();
    }

    fn status(&self, task: usize) -> Status {
        self.ledger.rows[&self.names[task]].status
    }

    /// One change of a row, as the ledger allows it.
    fn step(&mut self, task: usize, status: Status, owner: &str, more: impl FnOnce(&mut Delta)) {
        self.deltas += 1;
        let mut delta = Delta {
            owner: owner.to_owned(),
            reason: "simulated".to_owned(),
            delta_id: format!("d{}", self.deltas),
            ..Delta::blank(self.names[task].clone(), status)
        };
        more(&mut delta);
        let applied = self.ledger.apply(&[delta], DeltaOptions::default());
        assert!(applied.is_ok(), "the ledger refuses a legal step: {applied:?}");
    }

    fn release(&mut self, task: usize) {
        for lock in self.locks.iter_mut().filter(|lock| lock.task_id == self.ids[task]) {
            lock.active = false;
        }
    }

    /// Takes back what silent workers hold: the row is blocked, the lock is free, the row is planned anew.
    fn sweep(&mut self, dice: &mut Dice) {
        let now = self.now.clone();
        let silent = |lock: &&mut HeldLock| is_stranger(lock) && !lock.lease.is_live(&now);
        self.locks.iter_mut().filter(silent).for_each(|lock| lock.active = false);
        for task in 0..self.names.len() {
            let silent = self
                .locks
                .iter()
                .any(|lock| lock.active && lock.task_id == self.ids[task] && !lock.lease.is_live(&self.now));
            if silent && self.status(task) == Status::InProgress {
                let owner = self.ledger.rows[&self.names[task]].owner.clone();
                let retry_after_ms = dice.below(20_000);
                self.step(task, Status::Blocked, &owner, |delta| {
                    delta.timed_out = Some(true);
                    delta.retry_after_ms = Some(retry_after_ms);
                });
                self.release(task);
                let row = &self.ledger.rows[&self.names[task]];
                let wait = i64::try_from(row.retry_after_ms.unwrap_or(0)).unwrap();
                self.not_before_ms[task] = self.now.boot.millis + wait;
                self.step(task, Status::Todo, "", |_| {});
            }
        }
    }

    /// Other runs lock what is free, give it back, or die with it.
    fn strangers_come_and_go(&mut self, dice: &mut Dice) {
        for lock in self.locks.iter_mut().filter(|lock| is_stranger(lock) && lock.active) {
            lock.active = !(self.all_are_well || dice.one_in(3));
        }
        if self.all_are_well || !dice.one_in(3) {
            return;
        }
        let scope = Scope::parse(dice.pick(&SCOPES), None).unwrap();
        let holder = stranger_id(self.strangers);
        let wanted = [(scope.clone(), LockMode::Exclusive)];
        if obstacle(&holder, &wanted, &self.locks, false).is_none() {
            self.strangers += 1;
            let lock = self.grant(holder, &TaskRef::parse("T-1").unwrap(), scope);
            self.locks.push(HeldLock { workspace: "/elsewhere/w".to_owned(), ..lock });
        }
    }

    fn schedule(&mut self, dice: &mut Dice) {
        let slots = (0..self.names.len()).map(|task| Slot {
            name: self.names[task].to_string(),
            status: self.status(task),
            needs: self.needs[task].clone(),
            writes: vec![self.scopes[task].clone()],
            passed_over: self.passed_over[task],
            not_before_ms: self.not_before_ms[task],
            ..Slot::default()
        });
        let mut board = Board::new(slots.collect(), 3);
        let strangers = self.locks.iter().filter(|l| l.active && is_stranger(l));
        board.set_taken(strangers.map(|l| l.place.clone()).collect());
        let now_ms = self.now.boot.millis;
        let steps = board.steps(now_ms);
        board.note(&steps, now_ms);
        self.passed_over = board.slots().iter().map(|slot| slot.passed_over).collect();
        for step in steps {
            let BoardStep::Start(task) = step else { panic!("nothing fails here, so nothing is skipped") };
            self.give_out(dice, task);
        }
    }

    fn give_out(&mut self, dice: &mut Dice, task: usize) {
        let wanted = [(self.scopes[task].clone(), LockMode::Exclusive)];
        let in_the_way = obstacle(&self.ids[task], &wanted, &self.locks, false);
        assert!(in_the_way.is_none(), "the scheduler starts what is locked: {in_the_way:?}");
        assert!(self.not_before_ms[task] <= self.now.boot.millis, "a retry was started too early");
        let name = self.names[task].clone();
        let lock = self.grant(self.ids[task].clone(), &name, self.scopes[task].clone());
        self.locks.push(lock);
        self.started += 1;
        let mut worker = Worker::new(dice, self.started, task, self.last_token);
        if self.all_are_well {
            worker.character = Character::Good;
        }
        let owner = worker.name.clone();
        self.step(task, Status::InProgress, &owner, |_| {});
        self.workers.push(worker);
    }

    /// The next grant of the store, for a task of this run.
    fn grant(&mut self, holder: TaskId, reference: &TaskRef, scope: Scope) -> HeldLock {
        self.last_token += 1;
        HeldLock {
            token: self.last_token,
            run_id: run_id(),
            task_id: holder,
            reference: reference.clone(),
            workspace: WORKSPACE.to_owned(),
            place: scope.clone(),
            scope,
            mode: LockMode::Exclusive,
            active: true,
            timeout_ms: u64::try_from(TIMEOUT.as_millis()).unwrap(),
            lease: lease(&self.now, TIMEOUT),
            holder: None,
            granted_at: self.now.at,
            released_at: None,
            release_reason: None,
        }
    }

    fn hear(&mut self, dice: &mut Dice) {
        let mut workers = std::mem::take(&mut self.workers);
        for worker in &mut workers {
            if self.all_are_well && worker.character != Character::Good {
                worker.is_gone = true;
            }
            for message in worker.act(dice) {
                self.receive(worker, message);
            }
        }
        workers.retain(|worker| !worker.is_gone);
        self.workers = workers;
    }

    fn receive(&mut self, worker: &mut Worker, message: Message) {
        let (Message::Heartbeat { token } | Message::Result { token, .. }) = message;
        let held: Vec<HeldLock> =
            self.locks.iter().filter(|l| l.task_id == self.ids[worker.task]).cloned().collect();
        if admit(&held, token, &self.now).is_err() {
            return;
        }
        // A liar may guess its successor's token, but never revive its own.
        let newest = held.iter().map(|lock| lock.token).max();
        assert_eq!(Some(token), newest, "a token from before was accepted");
        assert_eq!(self.status(worker.task), Status::InProgress, "a token outlived its task");
        match message {
            Message::Heartbeat { .. } => {
                let renewed = lease(&self.now, TIMEOUT);
                let own = |lock: &&mut HeldLock| lock.active && lock.token == token;
                self.locks.iter_mut().filter(own).for_each(|lock| lock.lease = renewed.clone());
            }
            // What is claimed is checked before it is granted.
            Message::Result { honest: false, .. } => {}
            Message::Result { honest: true, .. } => {
                self.step(worker.task, Status::Done, &worker.name, |_| {});
                self.release(worker.task);
                let before = self.evidence.insert(worker.task, token);
                assert_eq!(before, None, "a task was done twice");
                worker.is_gone = true;
            }
        }
    }

    /// What must hold at every moment.
    fn check(&self) {
        let active: Vec<&HeldLock> = self.locks.iter().filter(|lock| lock.active).collect();
        for (index, lock) in active.iter().enumerate() {
            for other in &active[..index] {
                let apart = lock.task_id == other.task_id || !lock.place.overlaps(&other.place);
                assert!(apart, "two holders of one place: {lock:?} {other:?}");
            }
        }
        assert!(self.locks.windows(2).all(|pair| pair[0].token < pair[1].token), "tokens only grow");
        for task in 0..self.names.len() {
            let status = self.status(task);
            let holds = active.iter().any(|lock| lock.task_id == self.ids[task]);
            assert_eq!(holds, status == Status::InProgress, "T-{} is {status} and holds {holds}", task + 1);
            assert_eq!(self.evidence.contains_key(&task), status == Status::Done, "done without evidence");
            if matches!(status, Status::InProgress | Status::Done) {
                let met = self.needs[task].iter().all(|&needed| self.status(needed) == Status::Done);
                assert!(met, "T-{} runs before what it needs", task + 1);
            }
        }
    }

    pub(super) fn final_check(&self) {
        self.check();
        assert_eq!(self.evidence.len(), self.names.len());
    }
}
