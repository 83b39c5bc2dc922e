//! `engine::drive` in process: a real store, real children, time that passes only while the loop is idle.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use contract::domain::limits;
use contract::domain::policy::Policy;
use contract::domain::request::{Agent, RequestId};
use contract::domain::run::{Run, RunId, RunState};
use engine::host::{LocalHost, PlainDoor};
use engine::index::Index;
use engine::settings::{EngineArchive, ModelSettings, WaitLimits};
use engine::supervisor::ShimProgram;
use engine::{DriveEnd, Executors, Observer, Settings, StopSignal, TaskProgress, drive};
use ops::Session;
use ops::run::{accept, cancel, show, task_line};
use ops::{Caller, Context};
use serde_json::{Value, json};
use testkit::{ManualClock, SeededIds, TempStore};

use crate::world::PROGRAM;

/// A store, a workspace beside it, and an engine's settings.
struct Bench {
    store: TempStore,
    cx: Context,
    settings: Settings,
}

impl Bench {
    fn new() -> Self {
        let store = TempStore::new();
        store.scratch().dir("work");
        let cx = open(&store, 1);
        let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let settings = Settings {
            launcher: Arc::new(shim()),
            executors: Executors::built_in(),
            archive: EngineArchive {
                logs: store.scratch().dir("logs"),
                snapshots: engine::snapshots::Snapshots::default(),
                worktrees: engine::worktree::Worktrees::default(),
            },
            models: ModelSettings::default(),
            waits: WaitLimits::default(),
            index: Index::at(store.scratch().join("index")),
            policy: Policy::default(),
            sandbox: engine::sandbox::SandboxSettings::default(),
            environment: BTreeMap::from([path]),
            ceiling: None,
            doors: None,
            stop: StopSignal::default(),
            rerun_parked: false,
            audit: contract::intake::AuditFiles::default(),
        };
        Self { store, cx, settings }
    }

    fn submit(&mut self, document: &Value) -> RunId {
        let bytes = document.to_string();
        let read = contract::intake::read(bytes.as_bytes(), &contract::intake::Executors::default()).unwrap();
        let request = accept::Submission {
            kind: read.kind,
            plan: read.plan,
            objective: read.objective,
            workspace: self.store.scratch().join("work").to_str().unwrap().to_owned(),
            intent: read.intent,
            corr: read.corr,
            depth: 1,
            parent_run: None,
            parent_task: None,
            document_digest: read.document_digest,
            aop: accept::AopSubmission::default(),
        };
        accept::submit(&mut self.cx, &key("submit"), &request).unwrap().answer.run_id
    }

    /// Drives the run; `on_tick` is called while the engine waits.
    fn drive(&mut self, id: &RunId, on_tick: &mut dyn FnMut()) -> DriveEnd {
        let mut observer = Watcher { clock: self.store.clock(), on_tick };
        drive(&mut self.cx, &self.settings, id, &mut observer).unwrap()
    }

    /// Drives the run to its end.
    #[track_caller]
    fn end_of(&mut self, document: &Value) -> (Box<Run>, Vec<String>) {
        let id = self.submit(document);
        let ending = self.drive(&id, &mut || {});
        let DriveEnd::Ended(run) = ending else { panic!("{ending:?}") };
        (run, self.tasks(&id))
    }

    /// `name status evidence reason` of each task.
    fn tasks(&mut self, id: &RunId) -> Vec<String> {
        let whole = show::by_id(&mut self.cx, id).unwrap();
        let line = |(task, attempts): &(contract::domain::task::Task, Vec<_>)| {
            let shown = task_line::task_line(task, attempts);
            let words = ["name", "status", "evidence", "reason"].map(|field| shown[field].as_str());
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        whole.tasks.iter().map(line).collect()
    }
}

fn shim() -> ShimProgram {
    ShimProgram {
        program: PROGRAM.into(),
        args: vec!["shim".into()],
        has_template: true,
        store: OnceLock::new(),
    }
}

fn open(store: &TempStore, seed: u64) -> Context {
    let host = LocalHost { launcher: Arc::new(shim()), door: Box::new(PlainDoor) };
    let ids = Box::new(SeededIds::new(seed));
    Context::open(&store.path(), Arc::new(store.clock()), ids, Rc::new(host)).unwrap()
}

fn key(request_id: &str) -> Session {
    let caller = Caller::human(Agent::parse("ann").unwrap());
    Session::new(caller, RequestId::parse(request_id).unwrap())
}

struct Watcher<'w> {
    clock: ManualClock,
    on_tick: &'w mut dyn FnMut(),
}

impl Observer for Watcher<'_> {
    fn report(&mut self, _: TaskProgress<'_>) {}

    fn tick(&mut self) {
        self.clock.advance(limits::POLL_INTERVAL);
        (self.on_tick)();
    }
}

fn plan(tasks: &Value) -> Value {
    json!({"objective": "show what happens", "task": tasks})
}

#[test]
fn a_task_whose_checks_pass_is_done_and_verified() {
    let mut bench = Bench::new();
    let checks = json!([{"command": "out.txt", "expects": "FILE_EXISTS"}, {"command": ["true"]}]);
    let (run, tasks) = bench.end_of(&plan(&json!([
        {"id": "writes", "command": "echo x > out.txt", "shell": true, "checks": checks},
        {"id": "after", "command": ["true"], "depends_on": ["writes"]},
    ])));
    assert_eq!(tasks, ["writes done verified", "after done claimed"]);
    assert_eq!((run.state, &run.result.unwrap()["final_signal"]), (RunState::Done, &json!("SUCCESS")));
    assert!(bench.store.scratch().has("work/out.txt"));
    // A run that has ended is answered with its stored result.
    let again = drive(&mut bench.cx, &bench.settings, &run.asked.id, &mut engine::observer::Nobody).unwrap();
    assert!(matches!(again, DriveEnd::Ended(run) if run.state == RunState::Done));
}

#[test]
fn a_plan_that_the_policy_denies_starts_nothing() {
    let mut bench = Bench::new();
    bench.settings.policy = Policy { deny_shell: true, ..Policy::default() };
    let (run, tasks) =
        bench.end_of(&plan(&json!([{"id": "a", "command": "echo x > out.txt", "shell": true}])));
    assert_eq!(tasks, ["a canceled the run was refused: task `a` is denied: policy.deny_shell is set"]);
    assert_eq!(run.state, RunState::Failed);
    assert!(!bench.store.scratch().has("work/out.txt"));
}

#[test]
fn a_reserved_intent_is_answered_without_a_task() {
    let mut bench = Bench::new();
    let (run, tasks) = bench.end_of(&json!({
        "v": "1", "id": "request-0001", "ts": "2026-01-01T12:00:00Z", "type": "task", "from": "human.ann",
        "to": "service.writ", "intent": "aee.status.ping", "corr": "corr-0001", "reply_to": null, "trace": null,
        "priority": "normal", "requires": null, "payload": {}, "sig": null,
    }));
    assert_eq!((run.state, tasks.len()), (RunState::Done, 0));
    assert_eq!(run.result.unwrap()["answer"]["pong"], true);
}

#[test]
fn a_check_that_fails_overturns_the_claim_and_skips_what_depends_on_it() {
    let mut bench = Bench::new();
    let (run, tasks) = bench.end_of(&plan(&json!([
        {"id": "claims", "command": ["true"], "checks": [{"command": ["false"]}]},
        {"id": "after", "command": ["true"], "depends_on": ["claims"]},
    ])));
    let expected = [
        "claims failed check `false` failed: exit 1, expected 0",
        "after canceled dependency `claims` is failed",
    ];
    assert_eq!(tasks, expected);
    assert_eq!(run.state, RunState::Failed);
}

/// A task that waits to be ended, unless the file `go` is there.
fn waits() -> Value {
    let line = "[ -f go ] || { touch started; exec sleep 600; }";
    plan(&json!([{"id": "a", "command": line, "shell": true, "retry_safe": true}]))
}

#[test]
fn a_run_that_is_canceled_ends_its_children_and_stays_canceled() {
    let mut bench = Bench::new();
    let id = bench.submit(&waits());
    let mut other = open(&bench.store, 2);
    let started = bench.store.scratch().join("work/started");
    let ending = bench.drive(&id, &mut || {
        if started.exists() {
            let request = cancel::Request { id: id.to_string(), reason: None };
            cancel::cancel(&mut other, &key("cancel"), &request).unwrap();
        }
    });
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Canceled), "{ending:?}");
    assert_eq!(bench.tasks(&id), ["a canceled canceled"]);
}

#[test]
fn a_run_that_is_interrupted_is_continued_by_the_next_engine() {
    let mut bench = Bench::new();
    let id = bench.submit(&waits());
    let (stop, started) = (bench.settings.stop.clone(), bench.store.scratch().join("work/started"));
    let ending = bench.drive(&id, &mut || {
        if started.exists() && stop.raised().is_none() {
            stop.raise(15);
        }
    });
    assert!(matches!(ending, DriveEnd::Interrupted { signal: 15, .. }), "{ending:?}");
    assert_eq!(bench.tasks(&id), ["a blocked interrupted by a signal"]);
    bench.settings.stop = StopSignal::default();
    bench.store.scratch().write("work/go", "");
    let ending = bench.drive(&id, &mut || {});
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Done), "{ending:?}");
    assert_eq!(bench.tasks(&id), ["a done claimed"]);
    let whole = show::by_id(&mut bench.cx, &id).unwrap();
    assert_eq!(whole.tasks[0].1.len(), 2);
}

#[test]
fn a_task_that_nobody_calls_safe_to_repeat_waits_for_a_person() {
    let mut bench = Bench::new();
    let mut document = waits();
    document["task"][0]["retry_safe"] = json!(false);
    let id = bench.submit(&document);
    let (stop, started) = (bench.settings.stop.clone(), bench.store.scratch().join("work/started"));
    bench.drive(&id, &mut || {
        if started.exists() && stop.raised().is_none() {
            stop.raise(15);
        }
    });
    bench.settings.stop = StopSignal::default();
    let ending = bench.drive(&id, &mut || {});
    assert!(matches!(&ending, DriveEnd::Stopped(run) if run.state == RunState::Stopped), "{ending:?}");
    bench.settings.rerun_parked = true;
    bench.store.scratch().write("work/go", "");
    let ending = bench.drive(&id, &mut || {});
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Done), "{ending:?}");
}
