//! What an engine is granted with an attempt and returns at its end: locks, budget and an approval.

use std::time::Duration;

use contract::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::crew::approval::NotApproved;
use contract::domain::crew::budget::{Amount, BudgetFault, Purse};
use contract::domain::crew::lock::HeldLock;
use contract::domain::executor::ExecutorName;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::plan::Budget;
use contract::domain::process::Remains;
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use ops::crew::Obstacle;
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::run::own::Owned;
use ops::{approval, lock, run, watchdog};
use serde_json::json;
use testkit::SeededIds;

use crate::crew_world::{Crew, proved, purse};
use crate::world::{ALIVE, DEAD, UNSEEN, World, caller, cancel, key, owner, submit};

struct Scene {
    world: World,
    attempts: u64,
}

impl Scene {
    fn new() -> Self {
        Self { world: World::new(), attempts: 0 }
    }

    /// A run whose tasks each write a path, taken by an engine.
    fn run(&mut self, tasks: &[(&str, &str)]) -> RunId {
        self.run_as(tasks, |_| {})
    }

    fn run_as(&mut self, tasks: &[(&str, &str)], more: impl FnOnce(&mut run::accept::Submission)) -> RunId {
        let names: Vec<&str> = tasks.iter().map(|(name, _)| *name).collect();
        let mut request = submit(&names);
        for (task, (_, writes)) in request.plan.tasks.iter_mut().zip(tasks) {
            task.writes = vec![scope(writes)];
            task.depends_on.clear();
        }
        more(&mut request);
        let key = key("setup", &format!("run {}", names.join(" ")));
        let run = run::accept::submit(&mut self.world.cx, &key, &request).unwrap().answer.run_id;
        self.world.own(&run, 7);
        run
    }

    fn write(&mut self, run: &RunId, entries: &[JournalEntry]) -> JournalWritten {
        journal::write(&mut self.world.cx, &caller("writ"), run, &owner(7), entries).unwrap()
    }

    fn start(&mut self, run: &RunId, name: &str) -> JournalWritten {
        self.attempts += 1;
        let task = self.world.task_of(run, name);
        let number = i64::try_from(
            run::show::show(&mut self.world.cx, &crate::world::reader(), run.as_str()).unwrap().tasks.len(),
        )
        .unwrap();
        let attempt = NewAttempt {
            id: mint(&mut SeededIds::new(self.attempts), self.world.temp.now().at),
            task_id: task.id.clone(),
            run_id: run.clone(),
            number: number + i64::try_from(self.attempts).unwrap(),
            executor: "shell".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: owner(7),
        };
        let scopes = task.part.as_ref().unwrap().spec.writes.clone();
        let entries = [
            JournalEntry::MoveTask { task_id: task.id, to: Status::InProgress, reason: None },
            JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants { scopes, fold: false } },
        ];
        self.write(run, &entries)
    }

    fn started(&mut self, run: &RunId, name: &str) -> i64 {
        match self.start(run, name) {
            JournalWritten::All { token: Some(token) } => token,
            other => panic!("{name} did not start: {other:?}"),
        }
    }

    /// The attempt of a task comes to its end, and the task with it.
    fn end(
        &mut self,
        run: &RunId,
        name: &str,
        token: Option<i64>,
        outcome: AttemptOutcome,
    ) -> JournalWritten {
        let task = self.world.task_of(run, name);
        let attempts = ops::task::get::attempts(&mut self.world.cx, &task.id).unwrap();
        let entries = [
            JournalEntry::EndAttempt {
                task_id: task.id.clone(),
                attempt_id: attempts.last().unwrap().begun.id.clone(),
                state: AttemptState::Succeeded,
                outcome: Box::new(outcome),
                token,
            },
            JournalEntry::MoveTask { task_id: task.id, to: Status::Done, reason: None },
        ];
        self.write(run, &entries)
    }

    fn held(&mut self) -> Vec<String> {
        let locks = lock::list::list(&mut self.world.cx, &lock::list::Request::default()).unwrap();
        locks.locks.into_iter().map(|lock| format!("{} {}", lock.held.reference, lock.held.scope)).collect()
    }

    fn purse(&mut self, run: &RunId) -> Purse {
        purse(&mut self.world.cx, run.as_str())
    }

    /// The log accounts for all of it.
    fn is_sound(&mut self) {
        assert_eq!(ops::audit::replay_differences(&mut self.world.cx).unwrap(), Vec::<String>::new());
        assert!(ops::audit::verify(&mut self.world.cx, None).unwrap().is_clean());
    }
}

fn scope(text: &str) -> Scope {
    Scope::parse(text, None).unwrap()
}

fn cost(dollars: i64) -> Amount {
    Amount { cost: MicroUsd(dollars * 1_000_000), tokens: 0 }
}

/// The parts of a budget of ten dollars.
fn books(reserved: i64, spent: i64, withheld: i64) -> Purse {
    Purse { limit: cost(10), reserved: cost(reserved), spent: cost(spent), withheld: cost(withheld) }
}

fn spent(dollars: i64) -> AttemptOutcome {
    AttemptOutcome { cost: Some(cost(dollars).cost), tokens: Some(0), ..AttemptOutcome::default() }
}

fn holder(written: &JournalWritten) -> HeldLock {
    match written {
        JournalWritten::Hindered(Obstacle::Lock(obstacle)) => obstacle.lock.clone(),
        other => panic!("expected a lock conflict: {other:?}"),
    }
}

#[test]
fn an_attempt_begins_with_its_locks_and_ends_without_them() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src"), ("b", "docs")]);
    let two = scene.run(&[("c", "src/deep")]);
    let first = scene.started(&one, "a");
    let second = scene.started(&one, "b");
    assert!(second > first);
    assert_eq!(scene.held(), ["T-2 docs", "T-1 src"]);
    let before = scene.world.state();
    let hindered = scene.start(&two, "c");
    assert_eq!((holder(&hindered).run_id, holder(&hindered).token), (one.clone(), first));
    assert_eq!(scene.world.state(), before, "what cannot begin leaves nothing behind");
    assert!(matches!(
        scene.end(&one, "a", Some(first), AttemptOutcome::default()),
        JournalWritten::All { .. }
    ));
    assert_eq!(scene.held(), ["T-2 docs"]);
    assert!(scene.started(&two, "c") > second);
    scene.is_sound();
}

#[test]
fn an_attempt_that_lost_its_locks_cannot_report_a_result() {
    let mut scene = Scene::new();
    let (one, two) = (scene.run(&[("a", "src")]), scene.run(&[("b", ".")]));
    let old = scene.started(&one, "a");
    let clock = scene.world.clock();
    let renew = |scene: &mut Scene| run::own::renew(&mut scene.world.cx, &one, &owner(7), &[old]).unwrap();
    let sweep =
        |scene: &mut Scene| watchdog::tick(&mut scene.world.cx, &caller("writ")).unwrap().released.len();
    // A holder that renews its lease keeps the lock.
    for _ in 0..3 {
        clock.advance(limits::ENGINE_LOCK_LEASE.saturating_sub(Duration::from_secs(1)));
        assert_eq!((renew(&mut scene), sweep(&mut scene)), (vec![], 0));
    }
    // An expired lease still blocks others, and its holder can renew it as long as no sweep has run.
    clock.advance(limits::ENGINE_LOCK_LEASE * 2);
    assert_eq!(holder(&scene.start(&two, "b")).token, old);
    assert_eq!((renew(&mut scene), sweep(&mut scene)), (vec![], 0));
    clock.advance(limits::ENGINE_LOCK_LEASE * 2);
    assert_eq!(sweep(&mut scene), 1);
    let new = scene.started(&two, "b");
    assert!(new > old);
    assert_eq!(renew(&mut scene), [old]);
    let before = scene.world.state();
    assert_eq!(scene.end(&one, "a", Some(old), AttemptOutcome::default()), JournalWritten::Fenced);
    assert_eq!(scene.world.state(), before);
    assert_eq!(scene.held(), ["T-1 ."]);
    scene.is_sound();
}

#[test]
fn a_canceled_task_keeps_its_locks_until_its_child_is_gone() {
    let mut scene = Scene::new();
    let (one, two) = (scene.run(&[("a", "src")]), scene.run(&[("b", "src")]));
    let token = scene.started(&one, "a");
    let task = scene.world.task_of(&one, "a");
    let canceled = cancel(task.id.as_str());
    run::cancel::cancel(&mut scene.world.cx, &key("ann", "stop it"), &canceled).unwrap();
    assert_eq!(scene.world.task_of(&one, "a").status, Status::Canceled);
    assert_eq!(holder(&scene.start(&two, "b")).token, token);
    let attempts = ops::task::get::attempts(&mut scene.world.cx, &task.id).unwrap();
    let ended = JournalEntry::EndAttempt {
        task_id: task.id,
        attempt_id: attempts[0].begun.id.clone(),
        state: AttemptState::Interrupted,
        outcome: Box::default(),
        token: None,
    };
    scene.write(&one, &[ended]);
    scene.started(&two, "b");
    scene.is_sound();
}

#[test]
fn only_the_engine_releases_or_takes_its_locks() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src")]);
    let token = scene.started(&one, "a");
    let task = scene.world.task_of(&one, "a");
    let token = proved(&scene.world, task.id.as_str(), token);
    let release =
        lock::release::Request { run: one.to_string(), task: "T-1".to_owned(), token, reason: None };
    let error = lock::release::release(&mut scene.world.cx, &key("ann", "r"), &release).unwrap_err();
    assert_eq!(error.details["details"]["rule"], "lock_of_assignment");
    let acquire = lock::acquire::Request {
        run: one.to_string(),
        task: "T-1".to_owned(),
        resources: vec!["docs".to_owned()],
        shared: false,
        timeout_seconds: None,
        token: None,
    };
    let error = lock::acquire::acquire(&mut scene.world.cx, &key("ann", "a"), &acquire).unwrap_err();
    assert_eq!(error.details["details"]["rule"], "already_assigned");
    assert_eq!(scene.held(), ["T-1 src"]);
}

#[test]
fn a_run_started_by_a_task_works_only_inside_that_tasks_locks() {
    let mut scene = Scene::new();
    let outer = scene.run(&[("a", "src"), ("b", "docs")]);
    scene.started(&outer, "a");
    let other = scene.started(&outer, "b");
    let task = scene.world.task_of(&outer, "a").id;
    let inner = scene.run_as(&[("c", "src/deep"), ("d", "docs")], |request| {
        request.parent_run = Some(outer.clone());
        request.parent_task = Some(task);
    });
    scene.started(&inner, "c");
    assert_eq!(holder(&scene.start(&inner, "d")).token, other);
    let stranger = scene.run(&[("e", "src/deep/er")]);
    assert!(matches!(scene.start(&stranger, "e"), JournalWritten::Hindered(Obstacle::Lock(_))));
}

#[test]
fn an_attempt_reserves_its_share_and_returns_the_rest() {
    let mut scene = Scene::new();
    let run = scene.run_as(&[("a", "a"), ("b", "b"), ("c", "c")], |request| {
        request.plan.budget = Budget { cost: Some(cost(10).cost), tokens: Some(0) };
        for task in &mut request.plan.tasks {
            task.budget = Budget { cost: Some(cost(6).cost), tokens: None };
            task.executor = ExecutorName::aop_stdio();
        }
    });
    let token = scene.started(&run, "a");
    assert_eq!(scene.purse(&run), books(6, 0, 0));
    let before = scene.world.state();
    let exhausted = |left: i64| BudgetFault::Exhausted { share: cost(6), left: cost(left) };
    let waits = JournalWritten::Hindered(Obstacle::Budget { fault: exhausted(4), passes: true });
    assert_eq!(scene.start(&run, "b"), waits, "what is reserved may come back");
    assert_eq!(scene.world.state(), before);
    scene.end(&run, "a", Some(token), spent(1));
    assert_eq!(scene.purse(&run), books(0, 1, 0));
    let token = scene.started(&run, "b");
    // Nobody says what it cost, so all of it is withheld.
    scene.end(&run, "b", Some(token), AttemptOutcome::default());
    assert_eq!(scene.purse(&run), books(0, 1, 6));
    let over = JournalWritten::Hindered(Obstacle::Budget { fault: exhausted(3), passes: false });
    assert_eq!(scene.start(&run, "c"), over, "what is withheld does not come back by itself");
    scene.is_sound();
}

#[test]
fn a_command_that_uses_no_model_spends_nothing() {
    let mut scene = Scene::new();
    let run = scene.run_as(&[("a", "a"), ("b", "b")], |request| {
        request.plan.budget = Budget { cost: Some(cost(10).cost), tokens: Some(0) };
        for task in &mut request.plan.tasks {
            task.budget = Budget { cost: Some(cost(6).cost), tokens: None };
        }
    });
    let token = scene.started(&run, "a");
    scene.end(&run, "a", Some(token), AttemptOutcome::default());
    assert_eq!(scene.purse(&run), books(0, 0, 0));
    scene.started(&run, "b");
    run::cancel::cancel(&mut scene.world.cx, &key("ann", "stop"), &cancel(run.as_str())).unwrap();
    assert_eq!(scene.purse(&run), books(0, 0, 0), "also if its engine died");
    scene.is_sound();
}

#[test]
fn a_run_also_spends_the_budget_of_the_run_that_started_it() {
    let mut scene = Scene::new();
    let outer = scene.run_as(&[("a", "a")], |request| {
        request.plan.budget = Budget { cost: Some(cost(10).cost), tokens: Some(0) };
        request.plan.tasks[0].budget = Budget { cost: Some(cost(0).cost), tokens: None };
    });
    scene.started(&outer, "a");
    let inner = scene.run_as(&[("b", "b"), ("c", "c")], |request| {
        request.parent_run = Some(outer.clone());
        request.plan.budget = Budget { cost: Some(cost(100).cost), tokens: Some(0) };
        for task in &mut request.plan.tasks {
            task.budget = Budget { cost: Some(cost(8).cost), tokens: None };
        }
    });
    let token = scene.started(&inner, "b");
    assert_eq!((scene.purse(&outer).reserved, scene.purse(&inner).reserved), (cost(8), cost(8)));
    assert!(matches!(
        scene.start(&inner, "c"),
        JournalWritten::Hindered(Obstacle::Budget { passes: true, .. })
    ));
    scene.end(&inner, "b", Some(token), spent(3));
    let (above, own) = (scene.purse(&outer), scene.purse(&inner));
    assert_eq!((above.spent, above.reserved, own.spent, own.reserved), (cost(3), cost(0), cost(3), cost(0)));
    scene.is_sound();
}

#[test]
fn a_task_that_needs_an_approval_starts_with_it_once() {
    let mut scene = Scene::new();
    let run = scene.run(&[("a", "a")]);
    let question = approval::request::Request {
        run: run.to_string(),
        task: "T-1".to_owned(),
        action: None,
        deadline_seconds: Some(60),
    };
    let asked =
        approval::request::request(&mut scene.world.cx, &key("ann", "ask"), &question).unwrap().answer;
    let waits = scene.start(&run, "a");
    let id = asked.asked.id.clone();
    let pending = Obstacle::Approval { id: id.clone(), fault: NotApproved::Pending };
    assert!(pending.passes());
    assert_eq!(waits, JournalWritten::Hindered(pending));
    let yes = approval::decide::Request { id: id.to_string(), granted: true, reason: None };
    approval::decide::decide(&mut scene.world.cx, &key("bob", "yes"), &yes).unwrap();
    let token = scene.started(&run, "a");
    let request = approval::list::Request { run: Some(run.to_string()) };
    let listed = approval::list::list(&mut scene.world.cx, &request).unwrap().approvals;
    assert_eq!((listed[0].state.as_str(), listed[0].used_by), ("used", Some(token)));
    scene.is_sound();
}

#[test]
fn a_dead_engines_canceled_run_keeps_its_locks_until_their_lease_ends_but_not_its_money() {
    let mut scene = Scene::new();
    let run = scene.run_as(&[("a", "a")], |request| {
        request.plan.budget = Budget { cost: Some(cost(10).cost), tokens: Some(0) };
        request.plan.tasks[0].budget = Budget { cost: Some(cost(6).cost), tokens: None };
        request.plan.tasks[0].executor = ExecutorName::aop_stdio();
    });
    scene.started(&run, "a");
    run::cancel::cancel(&mut scene.world.cx, &key("ann", "stop"), &cancel(run.as_str())).unwrap();
    assert_eq!(scene.purse(&run), books(0, 0, 6));
    assert_eq!(scene.held(), ["T-1 a"], "its child may take a moment longer to end");
    scene.world.clock().advance(limits::ENGINE_LOCK_LEASE * 2);
    watchdog::tick(&mut scene.world.cx, &caller("writ")).unwrap();
    assert_eq!(scene.held(), Vec::<String>::new());
    scene.is_sound();
}

#[test]
fn an_engine_sweeps_the_silent_workers_of_a_crew() {
    let mut crew = Crew::new();
    crew.task("T-1", &["src"], json!({}));
    crew.issue("T-1").unwrap();
    let tick = |crew: &mut Crew| watchdog::tick(&mut crew.world.cx, &caller("writ")).unwrap();
    let before = crew.world.state();
    assert_eq!(tick(&mut crew), watchdog::Answer::default());
    assert_eq!(crew.world.state(), before, "a look at the living writes nothing");
    crew.world.clock().advance(Duration::from_secs(61));
    let swept = tick(&mut crew);
    assert_eq!(swept.timed_out[0]["task_id"], "T-1");
    assert_eq!(tick(&mut crew), watchdog::Answer::default());
}

#[test]
fn only_an_engine_of_which_nothing_is_left_loses_its_locks_and_its_run() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src")]);
    scene.started(&one, "a");
    scene.world.clock().advance(limits::ENGINE_LOCK_LEASE + limits::OWNER_LEASE);
    for (liveness, remains) in [(ALIVE, "running"), (UNSEEN, "unseen")] {
        scene.world.host.liveness.set(liveness);
        let before = scene.world.state();
        let swept =
            watchdog::sweep(&mut scene.world.cx, &caller("w"), &watchdog::Request::default()).unwrap();
        assert_eq!((swept.released.len(), &swept.kept[0]["remains"]), (0, &json!(remains)));
        assert_eq!(watchdog::tick(&mut scene.world.cx, &caller("w")).unwrap(), watchdog::Answer::default());
        let taken = run::own::take(&mut scene.world.cx, &caller("w"), &one, &owner(8)).unwrap();
        match (liveness, taken) {
            (ALIVE, Owned::Another(holder)) => assert_eq!(holder, owner(7)),
            (_, Owned::Unsettled(holder, remains)) => {
                assert_eq!((holder, remains), (owner(7), Remains::Unseen));
            }
            (_, other) => panic!("{other:?}"),
        }
        assert_eq!(scene.world.state(), before, "{liveness:?}");
    }
    scene.world.host.liveness.set(DEAD);
    let swept = watchdog::tick(&mut scene.world.cx, &caller("w")).unwrap();
    assert_eq!((swept.released.len(), swept.kept.len()), (1, 0));
    let taken = run::own::take(&mut scene.world.cx, &caller("w"), &one, &owner(8)).unwrap();
    assert!(matches!(taken, Owned::Mine(_)), "{taken:?}");
    scene.is_sound();
}

#[test]
fn a_person_takes_an_engines_locks_by_force_and_nobody_else_does() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src")]);
    let token = scene.started(&one, "a");
    scene.world.host.liveness.set(UNSEEN);
    let before = scene.world.state();
    let (run, task) = (one.to_string(), "T-1".to_owned());
    let id = scene.world.task_of(&one, "a").id;
    let proof = proved(&scene.world, id.as_str(), token);
    let plain = lock::release::Request { run: run.clone(), task: task.clone(), token: proof, reason: None };
    lock::release::release(&mut scene.world.cx, &key("w", "plain"), &plain).unwrap_err();
    let request = lock::force::Request { run, task, reason: "its container is gone".to_owned() };
    scene.world.host.paper.borrow_mut().person_says_no = true;
    lock::force::force(&mut scene.world.cx, &key("w", "no"), &request).unwrap_err();
    assert_eq!(scene.world.state(), before);
    scene.world.host.paper.borrow_mut().person_says_no = false;
    let forced = lock::force::force(&mut scene.world.cx, &key("w", "yes"), &request).unwrap().answer;
    assert_eq!((forced.tokens, forced.released), (vec![token], vec!["src".to_owned()]));
    assert_eq!(forced.holders[0].remains, Remains::Unseen);
    assert!(scene.world.host.question.borrow().contains("writ cannot end it from here"));
    assert_eq!(scene.held(), Vec::<String>::new());
    let reason = lock::list::taken(&mut scene.world.cx, token).unwrap().unwrap();
    assert!(reason.starts_with("forced by ") && reason.ends_with(": its container is gone"), "{reason}");
    // The engine notices it, and cannot report a result any more.
    assert_eq!(run::own::renew(&mut scene.world.cx, &one, &owner(7), &[token]).unwrap(), [token]);
    assert_eq!(scene.end(&one, "a", Some(token), AttemptOutcome::default()), JournalWritten::Fenced);
    scene.is_sound();
}

#[test]
fn an_engine_that_gave_its_locks_back_while_a_person_thinks_is_not_ended() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src")]);
    let token = scene.started(&one, "a");
    scene.world.host.liveness.set(ALIVE);
    let task = scene.world.task_of(&one, "a");
    let attempts = ops::task::get::attempts(&mut scene.world.cx, &task.id).unwrap();
    let entries = [
        JournalEntry::EndAttempt {
            task_id: task.id.clone(),
            attempt_id: attempts.last().unwrap().begun.id.clone(),
            state: AttemptState::Succeeded,
            outcome: Box::default(),
            token: Some(token),
        },
        JournalEntry::MoveTask { task_id: task.id, to: Status::Done, reason: None },
    ];
    let (elsewhere, run) = (scene.world.elsewhere(), one.clone());
    scene.world.while_asking(move || {
        journal::write(&mut elsewhere(), &caller("writ"), &run, &owner(7), &entries).unwrap();
    });
    let (run, task) = (one.to_string(), "T-1".to_owned());
    let request = lock::force::Request { run, task, reason: "stuck".to_owned() };
    lock::force::force(&mut scene.world.cx, &key("w", "force"), &request).unwrap_err();
    assert_eq!(*scene.world.host.ended.borrow(), Vec::<u32>::new());
    scene.is_sound();
}

#[test]
fn the_end_of_an_engine_is_recorded_before_it_is_ended() {
    let mut scene = Scene::new();
    let one = scene.run(&[("a", "src")]);
    scene.started(&one, "a");
    scene.world.host.liveness.set(ALIVE);
    let (run, task) = (one.to_string(), "T-1".to_owned());
    let request = lock::force::Request { run, task, reason: "stuck".to_owned() };
    lock::force::force(&mut scene.world.cx, &key("w", "force"), &request).unwrap();
    assert_eq!(*scene.world.host.ended.borrow(), [7]);
    let mut store = store::Store::open(&scene.world.temp.path(), scene.world.temp.now().at).unwrap();
    let kinds = vec!["engine_end_forced".to_owned()];
    let filter = store::EventFilter { kinds, limit: 9, ..store::EventFilter::default() };
    let said: Vec<(String, String)> = store
        .read()
        .unwrap()
        .events(&filter)
        .unwrap()
        .into_iter()
        .map(|event| (event.record.from, event.record.message))
        .collect();
    let message = "Process 7 and everything that it started is ended: stuck";
    assert_eq!(said, [("human.eve".to_owned(), message.to_owned())]);
    drop(store);
    scene.is_sound();
}

#[test]
fn a_task_has_lost_its_work_only_if_another_one_got_its_paths_since() {
    let mut scene = Scene::new();
    let (one, two) = (scene.run(&[("a", "src")]), scene.run(&[("b", "src/deep"), ("c", "docs")]));
    scene.started(&one, "a");
    let task = scene.world.task_of(&one, "a").id;
    scene.world.clock().advance(limits::ENGINE_LOCK_LEASE + Duration::from_secs(1));
    watchdog::tick(&mut scene.world.cx, &caller("w")).unwrap();
    scene.started(&two, "c");
    assert_eq!(lock::list::lost_to(&mut scene.world.cx, &task).unwrap(), None);
    let token = scene.started(&two, "b");
    let lost = lock::list::lost_to(&mut scene.world.cx, &task).unwrap();
    assert_eq!(lost.map(|lock| lock.token), Some(token));
}
