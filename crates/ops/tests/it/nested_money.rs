//! What the runs that a task starts spend comes out of the task's own share, exactly once, and nothing is lost.

use contract::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::crew::budget::{Amount, BudgetFault, Purse};
use contract::domain::executor::ExecutorName;
use contract::domain::id::mint;
use contract::domain::money::MicroUsd;
use contract::domain::plan::Budget;
use contract::domain::run::RunId;
use contract::domain::status::Status;
use ops::crew::Obstacle;
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::{budget, run};
use proptest::prelude::*;
use testkit::SeededIds;

use crate::crew_world::purse;
use crate::world::{World, caller, cancel, key, owner, submit};

/// What a task is expected to have used, without the runs that it started.
struct Job {
    run: usize,
    name: String,
    budget: i64,
    uses_model: bool,
    state: State,
    spent: i64,
    withheld: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Working,
    Ended,
}

struct Level {
    id: RunId,
    corr: String,
    starter: Option<usize>,
    limit: i64,
    depth: u32,
}

/// Runs that tasks of runs started, and what each budget has to be.
struct Tree {
    world: World,
    runs: Vec<Level>,
    jobs: Vec<Job>,
    count: u64,
}

fn cost(micros: i64) -> Amount {
    Amount { cost: MicroUsd(micros), tokens: 0 }
}

impl Tree {
    /// A run of tasks with these budgets, each with whether it uses a model.
    fn new(limit: i64, tasks: &[(i64, bool)]) -> Self {
        let mut tree = Self { world: World::new(), runs: Vec::new(), jobs: Vec::new(), count: 0 };
        tree.submit(None, Some(limit), tasks);
        tree
    }

    fn submit(&mut self, starter: Option<usize>, limit: Option<i64>, tasks: &[(i64, bool)]) -> usize {
        let at = self.runs.len();
        let names: Vec<String> = (0..tasks.len()).map(|index| format!("t{at}-{index}")).collect();
        let mut request = submit(&names.iter().map(String::as_str).collect::<Vec<_>>());
        request.plan.budget = Budget { cost: limit.map(MicroUsd), tokens: None };
        for (task, (budget, uses_model)) in request.plan.tasks.iter_mut().zip(tasks) {
            task.budget = Budget { cost: Some(MicroUsd(*budget)), tokens: None };
            task.depends_on.clear();
            if *uses_model {
                task.executor = ExecutorName::aop_stdio();
            }
        }
        if let Some(starter) = starter {
            let above = &self.runs[self.jobs[starter].run];
            (request.parent_run, request.corr) = (Some(above.id.clone()), Some(above.corr.clone()));
            let (id, name) = (above.id.clone(), self.jobs[starter].name.clone());
            request.parent_task = Some(self.world.task_of(&id, &name).id);
        }
        let key = key("setup", &format!("run {at}"));
        let accepted = run::accept::submit(&mut self.world.cx, &key, &request).unwrap().answer;
        self.world.own(&accepted.run_id, 7);
        let left = starter.map(|starter| self.left(starter));
        let limit = limit.into_iter().chain(left).min().unwrap();
        let depth = starter.map_or(1, |starter| self.runs[self.jobs[starter].run].depth + 1);
        self.runs.push(Level { id: accepted.run_id, corr: accepted.corr, starter, limit, depth });
        for (name, &(budget, uses_model)) in names.into_iter().zip(tasks) {
            let state = State::Idle;
            self.jobs.push(Job { run: at, name, budget, uses_model, state, spent: 0, withheld: 0 });
        }
        at
    }

    fn write(&mut self, job: usize, entries: &[JournalEntry]) -> JournalWritten {
        let run = self.runs[self.jobs[job].run].id.clone();
        journal::write(&mut self.world.cx, &caller("writ"), &run, &owner(7), entries).unwrap()
    }

    fn start(&mut self, job: usize) -> JournalWritten {
        self.count += 1;
        let run = self.runs[self.jobs[job].run].id.clone();
        let task = self.world.task_of(&run, &self.jobs[job].name);
        let executor = if self.jobs[job].uses_model { "aop-stdio" } else { "shell" };
        let attempt = NewAttempt {
            id: mint(&mut SeededIds::new(self.count), self.world.temp.now().at),
            task_id: task.id.clone(),
            run_id: run,
            number: i64::try_from(self.count).unwrap(),
            executor: executor.to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: owner(7),
        };
        let mut entries = Vec::new();
        if task.status == Status::Todo {
            let to = Status::InProgress;
            entries.push(JournalEntry::MoveTask { task_id: task.id, to, reason: None });
        }
        entries.push(JournalEntry::StartAttempt { attempt, wants: Wants::default(), dispatch: None });
        let written = self.write(job, &entries);
        if matches!(written, JournalWritten::All { .. }) {
            self.jobs[job].state = State::Working;
        }
        written
    }

    fn started(&mut self, job: usize) {
        let written = self.start(job);
        assert!(matches!(written, JournalWritten::All { .. }), "{written:?}");
    }

    /// Whether waiting can help a task that cannot start for want of money.
    fn is_awaited(&mut self, job: usize) -> bool {
        let before = self.world.state();
        let written = self.start(job);
        let JournalWritten::Hindered(Obstacle::Budget { fault: BudgetFault::Exhausted { .. }, passes }) =
            written
        else {
            panic!("it is not hindered: {written:?}")
        };
        assert_eq!(self.world.state(), before, "a refusal writes nothing");
        passes
    }

    /// Ends the attempt of a task, which says what it cost or does not. A failed task can be tried again.
    fn end(&mut self, job: usize, reported: Option<i64>, state: AttemptState) {
        let held = self.left(job);
        let run = self.runs[self.jobs[job].run].id.clone();
        let task = self.world.task_of(&run, &self.jobs[job].name).id;
        let attempts = ops::task::get::attempts(&mut self.world.cx, &task).unwrap();
        let outcome = AttemptOutcome {
            cost: reported.map(MicroUsd),
            tokens: reported.map(|_| 0),
            ..AttemptOutcome::default()
        };
        let ended = JournalEntry::EndAttempt {
            task_id: task.clone(),
            attempt_id: attempts.last().unwrap().begun.id.clone(),
            state,
            outcome: Box::new(outcome),
            token: None,
        };
        let mut entries = vec![ended];
        if state == AttemptState::Succeeded {
            let to = Status::Done;
            entries.push(JournalEntry::MoveTask { task_id: task, to, reason: None });
        }
        assert!(matches!(self.write(job, &entries), JournalWritten::All { .. }));
        let job = &mut self.jobs[job];
        match reported {
            Some(spent) => job.spent += spent,
            None if job.uses_model => job.withheld += held,
            None => {}
        }
        job.state = if state == AttemptState::Succeeded { State::Ended } else { State::Idle };
    }

    fn cancel(&mut self, run: usize) {
        let id = self.runs[run].id.clone();
        self.count += 1;
        let key = key("ann", &format!("cancel {}", self.count));
        run::cancel::cancel(&mut self.world.cx, &key, &cancel(id.as_str())).unwrap();
        self.expect_canceled(run);
    }

    fn expect_canceled(&mut self, run: usize) {
        for job in 0..self.jobs.len() {
            if self.jobs[job].run != run {
                continue;
            }
            for below in self.started_by(job) {
                self.expect_canceled(below);
            }
            let held = self.left(job);
            let job = &mut self.jobs[job];
            if job.state == State::Working && job.uses_model {
                job.withheld += held;
            }
            job.state = State::Ended;
        }
    }

    fn settle(&mut self, job: usize, spent: i64) {
        self.count += 1;
        let (run, task) = (self.runs[self.jobs[job].run].id.to_string(), self.jobs[job].name.clone());
        let request = budget::settle::Request { run, task, cost: Some(MicroUsd(spent)), tokens: None };
        let key = key("person", &format!("settle {}", self.count));
        budget::settle::settle(&mut self.world.cx, &key, &request).unwrap();
        self.jobs[job].withheld = 0;
        self.jobs[job].spent += spent;
    }

    fn started_by(&self, job: usize) -> Vec<usize> {
        (0..self.runs.len()).filter(|&run| self.runs[run].starter == Some(job)).collect()
    }

    /// What a task has left of its budget. While it works it holds exactly that.
    fn left(&self, job: usize) -> i64 {
        let below = self.started_by(job).into_iter().map(|run| {
            let purse = self.expected(run);
            purse.reserved.plus(purse.spent).plus(purse.withheld).cost.0
        });
        let Job { budget, spent, withheld, .. } = self.jobs[job];
        budget - spent - withheld - below.sum::<i64>()
    }

    fn expected(&self, run: usize) -> Purse {
        let limit =
            Amount { cost: MicroUsd(self.runs[run].limit), tokens: contract::domain::limits::AMOUNT_MAX };
        let mut whole = Purse { limit, ..Purse::default() };
        for job in 0..self.jobs.len() {
            let Job { run: of, spent, withheld, state, .. } = self.jobs[job];
            if of != run {
                continue;
            }
            whole.spent = whole.spent.plus(cost(spent));
            whole.withheld = whole.withheld.plus(cost(withheld));
            if state == State::Working {
                whole.reserved = whole.reserved.plus(cost(self.left(job)));
            }
            for below in self.started_by(job) {
                let below = self.expected(below);
                whole.reserved = whole.reserved.plus(below.reserved);
                whole.spent = whole.spent.plus(below.spent);
                whole.withheld = whole.withheld.plus(below.withheld);
            }
        }
        whole
    }

    /// Every budget is to the micro-dollar what the tasks used.
    fn is_exact(&mut self) {
        for run in 0..self.runs.len() {
            let (id, expected) = (self.runs[run].id.clone(), self.expected(run));
            assert_eq!(purse(&mut self.world.cx, id.as_str()), expected, "run {run}");
        }
    }

    /// As long as nobody reports more than it may spend, no task and no run exceeds its budget.
    fn is_within_budgets(&self) {
        for run in 0..self.runs.len() {
            assert!(!self.expected(run).free().is_negative(), "run {run}: {:?}", self.expected(run));
        }
        for job in 0..self.jobs.len() {
            assert!(self.left(job) >= 0, "{}", self.jobs[job].name);
        }
    }

    fn is_sound(&mut self) {
        self.is_exact();
        assert_eq!(ops::audit::replay_differences(&mut self.world.cx).unwrap(), Vec::<String>::new());
        assert!(ops::audit::verify(&mut self.world.cx, None).unwrap().is_clean());
    }
}

const DONE: AttemptState = AttemptState::Succeeded;

#[test]
fn two_started_runs_share_what_their_task_has() {
    let mut tree = Tree::new(1000, &[(600, true)]);
    tree.started(0);
    let first = tree.submit(Some(0), None, &[(400, true)]);
    let second = tree.submit(Some(0), None, &[(300, true), (150, true)]);
    assert_eq!((tree.runs[first].limit, tree.runs[second].limit), (600, 600));
    tree.started(1);
    tree.is_exact();
    // The task holds 200 of its 600; the run has 400 free, and they are not its.
    assert_eq!(purse(&mut tree.world.cx, tree.runs[0].id.clone().as_str()).free().cost, MicroUsd(400));
    assert!(tree.is_awaited(2), "the other run may not use all that it holds");
    tree.started(3);
    tree.is_exact();
    tree.end(1, Some(390), DONE);
    tree.is_exact();
    assert!(!tree.is_awaited(2), "60 can come back, and 300 are needed");
    tree.end(3, Some(10), DONE);
    tree.end(0, Some(200), DONE);
    assert_eq!(tree.expected(0).spent, cost(600));
    tree.is_sound();
}

#[test]
fn a_started_run_never_waits_for_the_task_that_started_it() {
    let mut tree = Tree::new(500, &[(500, true), (0, true)]);
    tree.started(0);
    let run = tree.submit(Some(0), None, &[(500, true), (501, true)]);
    tree.started(2);
    tree.end(2, Some(1), DONE);
    assert!(!tree.is_awaited(3), "its own task holds the rest");
    tree.cancel(run);
    tree.end(0, None, DONE);
    assert_eq!((tree.expected(0).spent, tree.expected(0).withheld), (cost(1), cost(499)));
    tree.is_sound();
}

#[test]
fn a_second_attempt_has_what_the_started_runs_left() {
    let mut tree = Tree::new(1000, &[(600, true)]);
    tree.started(0);
    tree.submit(Some(0), None, &[(100, true), (200, true), (50, true)]);
    tree.started(1);
    tree.end(1, Some(70), DONE);
    tree.started(2);
    tree.end(2, None, DONE);
    tree.started(3);
    // Its program ends before the run that it started.
    tree.end(0, Some(30), AttemptState::Failed);
    tree.is_exact();
    tree.started(0);
    assert_eq!(tree.left(0), 600 - 70 - 200 - 50 - 30);
    tree.end(3, Some(5), DONE);
    assert_eq!(tree.left(0), 600 - 70 - 200 - 5 - 30);
    tree.is_exact();
    tree.settle(2, 120);
    assert_eq!(tree.left(0), 600 - 70 - 120 - 5 - 30, "what is settled comes back to the task");
    tree.end(0, Some(375), DONE);
    assert_eq!(tree.expected(0).spent, cost(600));
    tree.is_sound();
}

#[test]
fn work_that_cost_more_than_its_share_is_paid_by_the_task_that_started_it() {
    let mut tree = Tree::new(1000, &[(600, true)]);
    tree.started(0);
    let run = tree.submit(Some(0), None, &[(100, true), (400, true)]);
    tree.started(1);
    tree.end(1, Some(250), DONE);
    tree.is_exact();
    assert!(!tree.is_awaited(2), "350 are left");
    tree.cancel(run);
    tree.end(0, Some(350), DONE);
    tree.is_sound();
}

#[derive(Debug, Clone, Copy)]
struct Step {
    what: u8,
    which: u8,
    amount: u16,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0..14_u8, any::<u8>(), 0..500_u16).prop_map(|(what, which, amount)| Step { what, which, amount });
    prop::collection::vec(step, 1..40)
}

impl Tree {
    /// One of the jobs that are in this state.
    fn pick(&self, step: Step, is_wanted: impl Fn(&Job) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.jobs.len()).filter(|&job| is_wanted(&self.jobs[job])).collect();
        (!found.is_empty()).then(|| found[usize::from(step.which) % found.len()])
    }

    fn take(&mut self, step: Step) -> Option<()> {
        let amount = i64::from(step.amount);
        let is_working = |job: &Job| job.state == State::Working;
        match step.what {
            0..=4 => {
                let job = self.pick(step, |job| job.state == State::Idle && job.withheld == 0)?;
                self.start(job);
            }
            5..=7 => {
                let job = self.pick(step, |job| is_working(job) && self.runs[job.run].depth < 4)?;
                let limit = step.which.is_multiple_of(3).then_some(amount);
                let budgets = [(amount / 2, step.which.is_multiple_of(2)), (amount / 3, true)];
                self.submit(Some(job), limit, &budgets);
            }
            8 | 9 => {
                let job = self.pick(step, |job| is_working(job) && job.uses_model)?;
                let reported = amount.min(self.left(job));
                self.end(job, Some(reported), if step.what == 8 { DONE } else { AttemptState::Failed });
            }
            10 | 11 => {
                let job = self.pick(step, is_working)?;
                self.end(job, None, DONE);
            }
            12 => {
                let job = self.pick(step, |job| job.run > 0 && job.state != State::Ended)?;
                self.cancel(self.jobs[job].run);
            }
            _ => {
                let job = self.pick(step, |job| job.withheld > 0)?;
                self.settle(job, amount.min(self.jobs[job].withheld));
            }
        }
        Some(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn no_tree_of_runs_loses_or_makes_money(steps in steps()) {
        let mut tree = Tree::new(1000, &[(600, true), (300, false), (400, true)]);
        tree.started(0);
        for step in steps {
            tree.take(step);
            tree.is_exact();
            tree.is_within_budgets();
        }
        tree.is_sound();
    }
}
