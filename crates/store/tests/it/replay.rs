//! The log is complete: replaying any history rebuilds the same tables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use contract::domain::attempt::{AttemptId, AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::change::Change;
use contract::domain::check::{Check, TaskChecks};
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{mint, mint_run};
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::rollback::{Direction, Rollback, RollbackCounts, Stage, Trigger};
use contract::domain::run::{DocumentKind, NewRun, Owner, RunId, RunState};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{Claim, PlanPart, TaskId};
use contract::domain::time::{Lease, Now};
use proptest::prelude::*;
use proptest::sample::Index;
use rusqlite::Connection;
use store::{Store, Stream, Tx};
use testkit::{SeededIds, TempStore, event, rounds};

/// A random step. Indexes choose among what exists; if nothing exists, the step does nothing.
#[derive(Debug, Clone)]
enum Step {
    CreateTask {
        run: Option<Index>,
        needs: Vec<Index>,
        project: bool,
        priority: i64,
    },
    MoveTask {
        task: Index,
        to: Status,
    },
    Claim {
        task: Index,
    },
    Release {
        task: Index,
    },
    Focus {
        task: Index,
        agent: u8,
    },
    SubmitRun,
    OwnRun {
        run: Index,
    },
    CancelRun {
        run: Index,
    },
    MoveRun {
        run: Index,
        to: RunState,
    },
    StartAttempt {
        task: Index,
    },
    EndAttempt {
        attempt: Index,
        state: AttemptState,
    },
    RollBack {
        attempt: Index,
        direction: Direction,
    },
    /// Renews rows without an event.
    Renew {
        task: Index,
        run: Index,
    },
    /// An event that only looks like a change.
    Pretend {
        task: Index,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<Index>;
    let status = || prop::sample::select(Status::ALL.to_vec());
    let needs = prop::collection::vec(at(), 0..4);
    prop_oneof![
        6 => (prop::option::of(at()), needs, any::<bool>(), -3_i64..20).prop_map(
            |(run, needs, project, priority)| Step::CreateTask { run, needs, project, priority }
        ),
        8 => (at(), status()).prop_map(|(task, to)| Step::MoveTask { task, to }),
        3 => at().prop_map(|task| Step::Claim { task }),
        2 => at().prop_map(|task| Step::Release { task }),
        1 => (at(), 0_u8..3).prop_map(|(task, agent)| Step::Focus { task, agent }),
        2 => Just(Step::SubmitRun),
        1 => at().prop_map(|run| Step::OwnRun { run }),
        1 => at().prop_map(|run| Step::CancelRun { run }),
        2 => (at(), prop::sample::select(RunState::ALL.to_vec())).prop_map(|(run, to)| Step::MoveRun { run, to }),
        2 => at().prop_map(|task| Step::StartAttempt { task }),
        2 => (at(), prop::sample::select(AttemptState::ALL.to_vec()))
            .prop_map(|(attempt, state)| Step::EndAttempt { attempt, state }),
        1 => (at(), prop::sample::select(Direction::ALL.to_vec()))
            .prop_map(|(attempt, direction)| Step::RollBack { attempt, direction }),
        1 => (at(), at()).prop_map(|(task, run)| Step::Renew { task, run }),
        1 => at().prop_map(|task| Step::Pretend { task }),
    ]
}

#[derive(Debug, Clone)]
struct KnownTask {
    id: TaskId,
    status: Status,
    needs: BTreeSet<usize>,
    run: Option<usize>,
    attempts: i64,
}

/// The expected content of the store.
#[derive(Debug, Clone, Default)]
struct Model {
    tasks: Vec<KnownTask>,
    runs: Vec<(RunId, RunState)>,
    attempts: Vec<AttemptId>,
}

impl Model {
    /// Todo, with every dependency done.
    fn ready(&self) -> BTreeSet<TaskId> {
        let done = |index: &usize| self.tasks[*index].status == Status::Done;
        let ready =
            self.tasks.iter().filter(|task| task.status == Status::Todo && task.needs.iter().all(done));
        ready.map(|task| task.id.clone()).collect()
    }
}

struct World<'w> {
    tx: &'w Tx<'w>,
    now: Now,
    ids: &'w mut SeededIds,
}

fn new_attempt(id: AttemptId, task_id: TaskId, run_id: RunId, number: i64) -> NewAttempt {
    let executor = "shell".to_owned();
    let (model, alternative, agent_session) = (None, None, None);
    NewAttempt { id, task_id, run_id, number, executor, model, alternative, agent_session, owner: owner() }
}

fn chosen<T>(list: &[T], index: Index) -> Option<usize> {
    (!list.is_empty()).then(|| index.index(list.len()))
}

impl World<'_> {
    fn change(&mut self, change: &Change) {
        let stream = match change.task_id() {
            Some(task) if task.as_str().ends_with('0') => Stream::Project("p".to_owned()),
            _ => Stream::Store,
        };
        let event = event(self.ids, &self.now, change.kind());
        self.tx.change(&stream, event, change).unwrap();
    }

    fn take(&mut self, step: &Step, model: &mut Model) {
        // A step without anything to act on does nothing.
        let _nothing_chosen = match step {
            Step::CreateTask { .. } | Step::MoveTask { .. } | Step::Claim { .. } | Step::Release { .. } => {
                self.take_task_step(step, model)
            }
            Step::SubmitRun | Step::OwnRun { .. } | Step::CancelRun { .. } | Step::MoveRun { .. } => {
                self.take_run_step(step, model)
            }
            Step::Focus { .. }
            | Step::StartAttempt { .. }
            | Step::EndAttempt { .. }
            | Step::RollBack { .. }
            | Step::Renew { .. }
            | Step::Pretend { .. } => self.take_other_step(step, model),
        };
    }

    fn take_task_step(&mut self, step: &Step, model: &mut Model) -> Option<()> {
        match step {
            Step::CreateTask { run, needs, project, priority } => {
                let run = run.and_then(|run| chosen(&model.runs, run));
                let needs: BTreeSet<usize> =
                    needs.iter().filter_map(|&index| chosen(&model.tasks, index)).collect();
                let task_id: TaskId = mint(self.ids, self.now.at);
                let number = i64::try_from(model.tasks.len()).unwrap() + 1;
                let part = run.map(|run| PlanPart {
                    run_id: model.runs[run].0.clone(),
                    number,
                    spec: PlanTask::minimal("t"),
                });
                self.change(&Change::TaskCreated {
                    task_id: task_id.clone(),
                    title: "title".to_owned(),
                    description: String::new(),
                    priority: *priority,
                    project_id: project.then(|| "p".to_owned()),
                    checks: part.is_none().then(task_checks),
                    part,
                    depends_on: needs.iter().map(|&index| model.tasks[index].id.clone()).collect(),
                });
                model.tasks.push(KnownTask { id: task_id, status: Status::Todo, needs, run, attempts: 0 });
            }
            Step::MoveTask { task, to } => {
                let task = chosen(&model.tasks, *task)?;
                let task = &mut model.tasks[task];
                self.change(&Change::TaskMoved {
                    task_id: task.id.clone(),
                    from: task.status,
                    to: *to,
                    evidence: (*to == Status::Done).then_some(Evidence::Claimed),
                    reason: (*to == Status::Blocked).then(|| "why".into()),
                });
                task.status = *to;
            }
            Step::Claim { task } => {
                let task_id = model.tasks[chosen(&model.tasks, *task)?].id.clone();
                let token = self.tx.next_number("fencing").unwrap();
                let lease = Lease::starting(&self.now, Duration::from_mins(15));
                self.change(&Change::TaskClaimed {
                    task_id,
                    claim: Claim { agent: "a".to_owned(), token, lease, holder: None, since: None },
                });
            }
            Step::Release { task } => {
                let task_id = model.tasks[chosen(&model.tasks, *task)?].id.clone();
                self.change(&Change::TaskReleased { task_id });
            }
            _ => unreachable!("chosen by the caller"),
        }
        Some(())
    }

    fn take_run_step(&mut self, step: &Step, model: &mut Model) -> Option<()> {
        match step {
            Step::SubmitRun => {
                let run = new_run(mint_run(self.ids));
                model.runs.push((run.id.clone(), RunState::Submitted));
                self.change(&Change::RunSubmitted { run });
            }
            Step::OwnRun { run } => {
                let run_id = model.runs[chosen(&model.runs, *run)?].0.clone();
                self.change(&Change::RunOwned { run_id, owner: owner() });
            }
            Step::CancelRun { run } => {
                let run_id = model.runs[chosen(&model.runs, *run)?].0.clone();
                self.change(&Change::RunCancelRequested { run_id, reason: None });
            }
            Step::MoveRun { run, to } => {
                let run = chosen(&model.runs, *run)?;
                let (run_id, state) = &mut model.runs[run];
                let result = to.is_terminal().then(|| serde_json::json!({"state": to, "share": 0.3}));
                self.change(&Change::RunMoved { run_id: run_id.clone(), from: *state, to: *to, result });
                *state = *to;
            }
            _ => unreachable!("chosen by the caller"),
        }
        Some(())
    }

    fn take_other_step(&mut self, step: &Step, model: &mut Model) -> Option<()> {
        match step {
            Step::Focus { task, agent } => {
                let task_id = model.tasks[chosen(&model.tasks, *task)?].id.clone();
                self.change(&Change::AgentFocused {
                    agent: format!("agent{agent}"),
                    task_id: Some(task_id),
                    project_id: None,
                });
            }
            Step::StartAttempt { task } => {
                let task = chosen(&model.tasks, *task)?;
                let task = &mut model.tasks[task];
                let run_id = model.runs[task.run?].0.clone();
                task.attempts += 1;
                let id: AttemptId = mint(self.ids, self.now.at);
                model.attempts.push(id.clone());
                let attempt = new_attempt(id, task.id.clone(), run_id, task.attempts);
                self.change(&Change::AttemptStarted { attempt, dispatch: None });
            }
            Step::EndAttempt { attempt, state } => {
                let attempt_id = model.attempts[chosen(&model.attempts, *attempt)?].clone();
                let agent_session = format!("conversation of {attempt_id}");
                self.change(&Change::AttemptNamed { attempt_id: attempt_id.clone(), agent_session });
                let outcome = Box::new(AttemptOutcome { exit_code: Some(1), ..AttemptOutcome::default() });
                self.change(&Change::AttemptEnded { attempt_id, state: *state, outcome });
            }
            Step::RollBack { attempt, direction } => {
                let attempt_id = model.attempts[chosen(&model.attempts, *attempt)?].clone();
                let task_id = model.tasks.first()?.id.clone();
                let rollback = Rollback {
                    direction: *direction,
                    stage: Stage::Started,
                    trigger: Trigger::Manual,
                    by: "human.ann".to_owned(),
                    since: 1,
                    at: self.now.at,
                    counts: RollbackCounts::default(),
                    left: Vec::new(),
                };
                self.change(&Change::AttemptRolledBack { task_id, attempt_id, rollback });
            }
            Step::Renew { task, run } => {
                let lease = Lease::starting(&self.now, Duration::from_hours(1));
                self.tx.renew_claim(&model.tasks[chosen(&model.tasks, *task)?].id, &lease).unwrap();
                self.tx.renew_ownership(&model.runs[chosen(&model.runs, *run)?].0, &lease).unwrap();
                for attempt in &model.attempts {
                    self.tx.heartbeat(attempt, self.now.at).unwrap();
                }
            }
            Step::Pretend { task } => {
                let task_id = model.tasks[chosen(&model.tasks, *task)?].id.clone();
                let mut event = event(self.ids, &self.now, "not a change");
                event.payload = serde_json::to_value(Change::TaskReleased { task_id }).unwrap();
                "task_released".clone_into(&mut event.kind);
                self.tx.append(&Stream::Store, event).unwrap();
            }
            _ => unreachable!("chosen by the caller"),
        }
        Some(())
    }
}

fn task_checks() -> TaskChecks {
    let checks = vec![Check::of_arguments(vec!["true".to_owned()]), Check::of_script("a && b")];
    let environment = AuthorEnvironment::of([("PATH".to_owned(), Some("/bin".to_owned()))]);
    TaskChecks {
        author: "ann".to_owned(),
        directory: Some("/w".to_owned()),
        checks,
        environment: Some(environment),
        pinned: BTreeMap::from([("check.sh".to_owned(), "sha256:1".to_owned())]),
        ..TaskChecks::default()
    }
}

fn owner() -> Owner {
    Owner {
        pid: 7,
        start_time: 8,
        boot_id: "boot-1".to_owned(),
        within: Vec::new(),
        machine: String::new(),
        store: None,
    }
}

fn new_run(id: RunId) -> NewRun {
    NewRun {
        corr: format!("corr-{id}"),
        id,
        origin_id: "evt_0".to_owned(),
        kind: DocumentKind::Plan,
        objective: "objective".to_owned(),
        workspace: "/workspace".to_owned(),
        plan: Plan::default(),
        plan_priority: None,
        intent: None,
        requested_by: "human.a".to_owned(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: "sha256:0".to_owned(),
        environment: None,
        session_id: Some("S-1".to_owned()),
        warnings: Vec::new(),
    }
}

/// Tasks whose counter of open dependencies is wrong.
fn miscounted(temp: &TempStore) -> i64 {
    let raw = Connection::open(temp.path()).unwrap();
    let sql =
        "SELECT count(*) FROM tasks t WHERE t.open_dependencies <> (SELECT count(*) FROM task_dependencies d
        JOIN tasks n ON n.id = d.depends_on WHERE d.task_id = t.id AND n.status <> 'done')";
    raw.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn holds(temp: &TempStore, store: &mut Store, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(miscounted(temp), 0);
    let rows = store.rows().unwrap();
    prop_assert_eq!(store.rebuilt().unwrap().rows().unwrap(), rows);
    let tx = store.read().unwrap();
    let ready: BTreeSet<TaskId> = tx.ready_tasks(1000).unwrap().into_iter().map(|task| task.id).collect();
    prop_assert_eq!(ready, model.ready());
    let found = tx.verify(None).unwrap();
    prop_assert!(found.is_clean(), "{:?}", found);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(32), ..ProptestConfig::default() })]

    #[test]
    fn a_replay_rebuilds_the_tables(
        // Each group is one transaction, which is committed or rolled back.
        groups in prop::collection::vec((prop::collection::vec(step(), 1..25), any::<bool>()), 1..5),
    ) {
        let temp = TempStore::new();
        let mut store = temp.open();
        let mut ids = SeededIds::new(1);
        let mut model = Model::default();
        for (steps, kept) in groups {
            temp.clock().advance(Duration::from_secs(1));
            let mut next = model.clone();
            let tx = store.begin().unwrap();
            for step in &steps {
                World { tx: &tx, now: temp.now(), ids: &mut ids }.take(step, &mut next);
            }
            if kept {
                tx.commit().unwrap();
                model = next;
            } else {
                drop(tx);
            }
            holds(&temp, &mut store, &model)?;
        }
    }
}

#[test]
fn a_change_decided_on_stale_data_is_refused() {
    let temp = TempStore::new();
    let mut store = temp.open();
    let mut ids = SeededIds::new(1);
    let mut model = Model::default();
    let tx = store.begin().unwrap();
    let mut world = World { tx: &tx, now: temp.now(), ids: &mut ids };
    world.take(&Step::CreateTask { run: None, needs: vec![], project: false, priority: 0 }, &mut model);
    let (task_id, run_id) = (model.tasks[0].id.clone(), mint_run(&mut SeededIds::new(5)));
    let unknown: TaskId = mint(&mut SeededIds::new(5), temp.now().at);
    let (from, to) = (Status::Done, Status::Todo);
    let moved = |task_id: &TaskId| Change::TaskMoved {
        task_id: task_id.clone(),
        from,
        to,
        evidence: None,
        reason: None,
    };
    let unfit = [
        moved(&task_id),
        moved(&unknown),
        Change::TaskReleased { task_id: unknown },
        Change::RunOwned { run_id: run_id.clone(), owner: owner() },
        Change::RunMoved { run_id, from: RunState::Running, to: RunState::Done, result: None },
    ];
    for change in unfit {
        let event = event(&mut ids, &temp.now(), "unfit");
        let error = tx.change(&Stream::Store, event, &change).expect_err("it does not fit");
        assert!(matches!(error, store::Error::Unfit { rows: 0 }), "{change:?}: {error:?}");
    }
}
