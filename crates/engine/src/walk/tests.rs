//! Slow layers, in process: a store, a loop, layers that answer from another thread, and no child process.

use contract::domain::reason::Reason;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::aocl::payload::{LayerPayload, Verification};
use contract::domain::limits;
use contract::domain::policy::Policy;
use contract::domain::request::{Agent, RequestId};
use contract::domain::run::{Run, RunId};
use ops::Session;
use ops::run::{accept, cancel, show};
use ops::{Caller, Context};
use serde_json::json;
use testkit::{ManualClock, SeededIds, TempStore};

use super::*;
use crate::Executors;
use crate::drive::{DriveEnd, drive_through};
use crate::host::{LocalHost, PlainDoor};
use crate::index::Index;
use crate::observer::{Observer, TaskProgress};
use crate::pipeline::Outcome;
use crate::pipeline::l8_verify::AttemptVerdict;
use crate::pipeline::layer::{Fetched, Handed, Judgment, LayerInput};
use crate::pipeline::stack::{DEFAULT, LayerStack};
use crate::settings::{EngineArchive, ModelSettings, Settings, StopSignal, WaitLimits};
use crate::supervisor::ShimProgram;

struct World {
    store: TempStore,
    cx: Context,
    settings: Settings,
}

impl World {
    fn new() -> Self {
        let store = TempStore::new();
        let cx = open(&store, 1);
        let settings = Settings {
            // Tasks fail as soon as they start, which is enough to see when they do.
            launcher: Arc::new(ShimProgram {
                program: PathBuf::from("/nonexistent/shim"),
                args: Vec::new(),
                has_template: false,
                store: OnceLock::new(),
            }),
            executors: Executors::built_in(),
            archive: EngineArchive {
                logs: store.scratch().dir("logs"),
                snapshots: crate::snapshots::Snapshots::default(),
                worktrees: crate::worktree::Worktrees::default(),
            },
            models: ModelSettings::default(),
            waits: WaitLimits::default(),
            index: Index::at(store.scratch().join("index")),
            policy: Policy::default(),
            sandbox: crate::sandbox::SandboxSettings::default(),
            environment: BTreeMap::new(),
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
            workspace: self.store.scratch().path().to_str().unwrap().to_owned(),
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

    fn drive(&mut self, stack: LayerStack, id: &RunId, watcher: &mut Watcher<'_>) -> DriveEnd {
        drive_through(stack, &mut self.cx, &self.settings, id, watcher).unwrap()
    }

    fn run(&mut self, id: &RunId) -> Run {
        show::state(&mut self.cx, id).unwrap()
    }

    /// The records of the run's layers. Replayed, they must lead to their digests.
    fn records(&mut self, id: &RunId) -> Vec<LayerPayload> {
        let run = self.run(id).asked;
        let events = ops::event::by_corr(&mut self.cx, &run.corr).unwrap();
        let records: Vec<LayerPayload> = events
            .into_iter()
            .filter(|event| event.record.intent == intents::LAYER_DECISION)
            .map(|event| serde_json::from_value(event.record.payload).unwrap())
            .collect();
        crate::pipeline::Pipeline::resumed(default_stack(), &run, &records).unwrap();
        records
    }

    /// `L1 CODE` of every decision, in the order of the records.
    fn decisions(&mut self, id: &RunId) -> Vec<String> {
        let short = |record: &LayerPayload| record.layer.id.split('.').next().unwrap().to_owned();
        let decided = |record: LayerPayload| {
            let layer = short(&record);
            record.decisions.into_iter().map(move |decision| format!("{layer} {}", decision.code))
        };
        self.records(id).into_iter().flat_map(decided).collect()
    }
}

fn open(store: &TempStore, seed: u64) -> Context {
    let shim = ShimProgram {
        program: PathBuf::from("/nowhere"),
        args: Vec::new(),
        has_template: false,
        store: OnceLock::new(),
    };
    let host = LocalHost { launcher: Arc::new(shim), door: Box::new(PlainDoor) };
    let ids = Box::new(SeededIds::new(seed));
    Context::open(&store.path(), Arc::new(store.clock()), ids, Rc::new(host)).unwrap()
}

fn key(request_id: &str) -> Session {
    let caller = Caller::human(Agent::parse("ann").unwrap());
    Session::new(caller, RequestId::parse(request_id).unwrap())
}

fn default_stack() -> LayerStack {
    LayerStack::parse(DEFAULT).unwrap()
}

/// Where layers are in the default stack.
const L3: usize = 3;
const L5: usize = 5;
const L8: usize = 8;

/// What the layer of the default stack decides.
fn built_in(index: usize, input: &LayerInput<'_>) -> Outcome {
    (default_stack().nodes[index].spec.run)(input)
}

/// The name of the task that is about to start.
fn name<'i>(input: &LayerInput<'i>) -> &'i str {
    let Fetched::Start(facts) = input.fetched else { panic!("the layer runs before an attempt") };
    &facts.part.spec.id
}

fn ping() -> Value {
    json!({
        "v": "1", "id": "request-0001", "ts": "2026-01-01T12:00:00Z", "type": "task", "from": "human.ann",
        "to": "service.writ", "intent": "aee.status.ping", "corr": "corr-0001", "reply_to": null, "trace": null,
        "priority": "normal", "requires": null, "payload": {}, "sig": null,
    })
}

fn two_tasks() -> Value {
    json!({"objective": "test", "task": [{"id": "a", "command": ["true"]}, {"id": "b", "command": ["true"]}]})
}

/// Notes what happens, and lets time pass whenever the loop has nothing to do.
struct Watcher<'w> {
    clock: ManualClock,
    step: Duration,
    log: Vec<String>,
    on_tick: &'w mut dyn FnMut(),
    on_end: &'w dyn Fn(&str),
}

impl<'w> Watcher<'w> {
    fn new(world: &World, on_tick: &'w mut dyn FnMut()) -> Self {
        let step = limits::POLL_INTERVAL;
        Self { clock: world.store.clock(), step, log: Vec::new(), on_tick, on_end: &|_| {} }
    }
}

impl Observer for Watcher<'_> {
    fn report(&mut self, progress: TaskProgress<'_>) {
        match progress {
            TaskProgress::Started { task, .. } => self.log.push(format!("{task} started")),
            TaskProgress::Ended { task, status, .. } => {
                self.log.push(format!("{task} {status}"));
                (self.on_end)(task);
            }
            TaskProgress::Update { .. }
            | TaskProgress::Checking { .. }
            | TaskProgress::Retrying { .. }
            | TaskProgress::Waiting { .. }
            | TaskProgress::WaitsForLimit { .. }
            | TaskProgress::Recovered { .. }
            | TaskProgress::Stopping { .. }
            | TaskProgress::StoreBusy
            | TaskProgress::TookOver { .. }
            | TaskProgress::Warned { .. }
            | TaskProgress::BeginsWithout { .. }
            | TaskProgress::Attached { .. } => {}
        }
    }

    fn tick(&mut self) {
        self.clock.advance(self.step);
        (self.on_tick)();
    }
}

fn wait_for(flag: &AtomicBool) {
    testkit::eventually("the signal of the test", || flag.load(Ordering::SeqCst));
}

#[test]
fn the_loop_turns_while_a_layer_of_the_run_is_awaited() {
    static TICKED: AtomicBool = AtomicBool::new(false);
    fn slow(input: &LayerInput<'_>) -> Outcome {
        let Fetched::Enter(facts) = input.fetched else { panic!("L1 runs before the tasks") };
        let run = facts.run.clone();
        Outcome::decided("ASKED", "elsewhere").wait(move |_| {
            wait_for(&TICKED);
            Outcome::decided("KNOWN", format!("{} is known", run.requested_by))
        })
    }
    let mut world = World::new();
    let id = world.submit(&ping());
    let mut stack = default_stack();
    stack.nodes[1].spec.run = slow;
    let mut on_tick = || TICKED.store(true, Ordering::SeqCst);
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Done), "{ending:?}");
    let expected =
        ["L0 NORMALIZED", "L1 ASKED", "L1 KNOWN", "L2 DIRECT_ANSWER", "L9 ASSEMBLED", "L10 AUDITED"];
    assert_eq!(world.decisions(&id), expected);
}

#[test]
fn a_layer_that_does_not_answer_before_the_deadline_refuses_the_run() {
    static GIVEN_UP: AtomicBool = AtomicBool::new(false);
    fn silent(_: &LayerInput<'_>) -> Outcome {
        Outcome::new().wait(|give_up| {
            testkit::eventually("the deadline", || give_up.is_set());
            GIVEN_UP.store(true, Ordering::SeqCst);
            Outcome::decided("LATE", "nobody waits")
        })
    }
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[3].spec.run = silent;
    let mut on_tick = || {};
    let mut watcher = Watcher { step: Duration::from_secs(4), ..Watcher::new(&world, &mut on_tick) };
    let ending = world.drive(stack, &id, &mut watcher);
    let DriveEnd::Ended(run) = ending else { panic!("{ending:?}") };
    let reason = "E_TIMEOUT: L3.policy.gate did not answer within 1m00s";
    assert_eq!((run.state, &run.result.unwrap()["reason"]), (RunState::Failed, &json!(reason)));
    let tasks = show::tasks(&mut world.cx, &id).unwrap();
    assert!(tasks.iter().all(|task| task.status == Status::Canceled), "{tasks:?}");
    let last = world.records(&id);
    let refused = last.iter().find(|record| record.layer.id == "L3.policy.gate").unwrap();
    assert_eq!(refused.control.branch_to.as_deref(), Some("L9.assemble.respond"));
    assert_eq!(refused.decisions[0].code, "NO_ANSWER");
    wait_for(&GIVEN_UP);
}

fn waits_until_given_up(_: &LayerInput<'_>) -> Outcome {
    Outcome::new().wait(|give_up| {
        testkit::eventually("the end of the wait", || give_up.is_set());
        Outcome::new()
    })
}

#[test]
fn a_run_that_is_interrupted_while_a_layer_is_awaited_can_be_continued() {
    let mut world = World::new();
    let id = world.submit(&ping());
    let mut stack = default_stack();
    stack.nodes[1].spec.run = waits_until_given_up;
    let stop = world.settings.stop.clone();
    let mut on_tick = || stop.raise(15);
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(ending, DriveEnd::Interrupted { signal: 15, .. }), "{ending:?}");
    assert_eq!(world.run(&id).state, RunState::Stopped);
    world.settings.stop = StopSignal::default();
    let mut on_tick = || {};
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(default_stack(), &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Done), "{ending:?}");
    // The walk had not passed its first layers, so it starts over.
    assert_eq!(world.decisions(&id).iter().filter(|decision| *decision == "L0 NORMALIZED").count(), 2);
}

#[test]
fn a_run_can_be_canceled_while_a_layer_is_awaited() {
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[3].spec.run = waits_until_given_up;
    let mut other = open(&world.store, 2);
    let mut on_tick = || {
        let request = cancel::Request { id: id.to_string(), reason: None };
        cancel::cancel(&mut other, &key("cancel"), &request).unwrap();
    };
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Canceled), "{ending:?}");
}

#[test]
fn other_tasks_are_worked_while_a_layer_of_one_is_awaited() {
    static B_ENDED: AtomicBool = AtomicBool::new(false);
    fn slow_for_a(input: &LayerInput<'_>) -> Outcome {
        if name(input) != "a" {
            return built_in(L5, input);
        }
        Outcome::new().wait(|_| {
            wait_for(&B_ENDED);
            Outcome::decided("BRIEFED", "elsewhere").giving(Handed::Brief("the brief".to_owned()))
        })
    }
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L5].spec.run = slow_for_a;
    let mut on_tick = || {};
    let on_end = |task: &str| B_ENDED.store(task == "b", Ordering::SeqCst);
    let mut watcher = Watcher { on_end: &on_end, ..Watcher::new(&world, &mut on_tick) };
    world.drive(stack, &id, &mut watcher);
    assert_eq!(watcher.log, ["b started", "b failed", "a started", "a failed"]);
    world.records(&id);
}

#[test]
fn a_task_whose_layer_does_not_answer_fails_without_an_attempt() {
    fn silent(input: &LayerInput<'_>) -> Outcome {
        if name(input) != "a" {
            return built_in(L5, input);
        }
        Outcome::new().wait(|give_up| {
            testkit::eventually("the end of the wait", || give_up.is_set());
            Outcome::new()
        })
    }
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L5].spec.run = silent;
    let mut on_tick = || {};
    let mut watcher = Watcher { step: Duration::from_secs(4), ..Watcher::new(&world, &mut on_tick) };
    world.drive(stack, &id, &mut watcher);
    assert_eq!(watcher.log, ["b started", "b failed", "a failed"]);
    let whole = show::by_id(&mut world.cx, &id).unwrap();
    let (task, attempts) = &whole.tasks[0];
    let reason = "E_TIMEOUT: L5.context.retrieve did not answer within 1m00s";
    assert_eq!((&task.blocked_reason, attempts.len()), (&Some(Reason::of_text(reason)), 0));
}

/// Judges task `a` as done when `flag` is set, and every other one as the built-in layer does.
fn judge_slowly(input: &LayerInput<'_>, flag: &'static AtomicBool) -> Outcome {
    let Fetched::End(facts) = input.fetched else { panic!("L8 runs after an attempt") };
    if facts.verify.number != 1 {
        return built_in(L8, input);
    }
    Outcome::new().wait(move |give_up| {
        let is_over = || flag.load(Ordering::SeqCst) || give_up.is_set();
        testkit::eventually("the signal of the test", is_over);
        let verification =
            Verification { status: "passed".to_owned(), reason: "seen".to_owned(), confidence: None };
        let judgment = Judgment { verdict: AttemptVerdict::Done { verified: false }, verification };
        Outcome::decided("SEEN", "elsewhere").giving(Handed::Judged(Box::new(judgment)))
    })
}

#[test]
fn other_tasks_are_worked_while_one_is_judged() {
    static B_ENDED: AtomicBool = AtomicBool::new(false);
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L8].spec.run = |input| judge_slowly(input, &B_ENDED);
    let mut on_tick = || {};
    let on_end = |task: &str| B_ENDED.store(task == "b", Ordering::SeqCst);
    let mut watcher = Watcher { on_end: &on_end, ..Watcher::new(&world, &mut on_tick) };
    world.drive(stack, &id, &mut watcher);
    assert_eq!(watcher.log, ["a started", "b started", "b failed", "a done"]);
    let decisions = world.decisions(&id);
    assert!(decisions.contains(&"L8 SEEN".to_owned()), "{decisions:?}");
}

#[test]
fn a_task_that_is_interrupted_while_it_is_judged_is_not_done() {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L8].spec.run = |input| judge_slowly(input, &NEVER);
    let stop = world.settings.stop.clone();
    let mut on_tick = || stop.raise(15);
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(ending, DriveEnd::Interrupted { signal: 15, .. }), "{ending:?}");
    assert_eq!(watcher.log, ["a started", "b started", "b failed", "a blocked"]);
}

/// Documents that pass the layers in every way that needs no executor.
fn traced_documents() -> Vec<(&'static str, Value, Policy)> {
    let mut tasks = two_tasks();
    tasks["task"][0]["checks"] = json!([{"command": ["test", "-e", "x"]}]);
    tasks["task"][0]["retries"] = json!(1);
    tasks["task"][1]["network"] = json!("none");
    let shell = json!({"objective": "test", "task": [{"id": "s", "command": "echo", "shell": true}]});
    let mut refused = ping();
    refused["intent"] = json!("ops.backup.check");
    let capped = Policy { timeout_max: Some(Duration::from_mins(2)), ..Policy::default() };
    vec![
        ("answered by L2", ping(), Policy::default()),
        ("refused by L2", refused, Policy::default()),
        ("refused by L3", shell, Policy { deny_shell: true, ..Policy::default() }),
        ("worked", tasks, capped),
    ]
}

#[test]
fn records_are_those_of_the_binary_before() {
    let expected: Value = serde_json::from_str(include_str!("records.json")).unwrap();
    let mut written = contract::json::Map::new();
    for (name, document, policy) in traced_documents() {
        let mut world = World::new();
        world.settings.policy = policy;
        let id = world.submit(&document);
        let mut on_tick = || {};
        let mut watcher = Watcher { step: Duration::from_secs(4), ..Watcher::new(&world, &mut on_tick) };
        world.drive(default_stack(), &id, &mut watcher);
        let records = world.records(&id).into_iter().map(|record| {
            json!({
                "layer": record.layer.id, "decisions": record.decisions, "delta": record.delta,
                "refs": record.refs, "control": record.control,
            })
        });
        let text = records.collect::<Value>().to_string();
        let text = text.replace(world.store.scratch().path().to_str().unwrap(), "WORKSPACE");
        written.insert(name.to_owned(), serde_json::from_str(&text).unwrap());
    }
    assert_eq!(Value::Object(written), expected);
}

#[test]
fn a_run_that_a_layer_parks_waits_in_the_store_and_is_continued() {
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L3].spec.run = |_| Outcome::decided("ASKED", "a person decides").park("waits for a person");
    let mut on_tick = || {};
    // However often it is continued, the layer is asked again and nothing else happens.
    for _ in 0..2 {
        let mut watcher = Watcher::new(&world, &mut on_tick);
        let ending = world.drive(stack.clone(), &id, &mut watcher);
        let DriveEnd::Stopped(run) = ending else { panic!("{ending:?}") };
        assert_eq!(
            (run.state, &run.result.unwrap()["reason"]),
            (RunState::Stopped, &json!("waits for a person"))
        );
        assert_eq!(watcher.log, Vec::<String>::new());
        let tasks = show::tasks(&mut world.cx, &id).unwrap();
        assert!(tasks.iter().all(|task| task.status == Status::Todo), "{tasks:?}");
    }
    let parked = world.records(&id).into_iter().find(|record| record.layer.id == "L3.policy.gate").unwrap();
    assert!(parked.control.halt_pipeline && parked.control.require_hitl, "{parked:?}");
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(default_stack(), &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Ended(run) if run.state == RunState::Failed), "{ending:?}");
    assert_eq!(watcher.log, ["a started", "a failed", "b started", "b failed"]);
    world.records(&id);
}

#[test]
fn a_task_that_a_layer_parks_waits_without_holding_up_the_others() {
    fn parks_a(input: &LayerInput<'_>) -> Outcome {
        if name(input) == "a" { Outcome::new().park("asks a question") } else { built_in(L5, input) }
    }
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L5].spec.run = parks_a;
    let mut on_tick = || {};
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Stopped(_)), "{ending:?}");
    assert_eq!(watcher.log, ["a blocked", "b started", "b failed"]);
    let whole = show::by_id(&mut world.cx, &id).unwrap();
    let (task, attempts) = &whole.tasks[0];
    assert_eq!((&task.blocked_reason, attempts.len()), (&Some("asks a question".into()), 0));
    let mut watcher = Watcher::new(&world, &mut on_tick);
    world.drive(default_stack(), &id, &mut watcher);
    assert_eq!(watcher.log, ["a started", "a failed"]);
    world.records(&id);
}

#[test]
fn an_attempt_that_a_layer_parks_is_left_to_a_person() {
    let mut world = World::new();
    let id = world.submit(&two_tasks());
    let mut stack = default_stack();
    stack.nodes[L8].spec.run = |_| Outcome::new().park("too little confidence");
    let mut on_tick = || {};
    let mut watcher = Watcher::new(&world, &mut on_tick);
    let ending = world.drive(stack, &id, &mut watcher);
    assert!(matches!(&ending, DriveEnd::Stopped(_)), "{ending:?}");
    assert_eq!(watcher.log, ["a started", "a blocked", "b started", "b blocked"]);
    let whole = show::by_id(&mut world.cx, &id).unwrap();
    let (task, attempts) = &whole.tasks[0];
    assert_eq!(task.blocked_reason, Some("too little confidence".into()));
    assert_eq!(attempts.last().unwrap().state, AttemptState::Unknown);
    // Continuing does not work it again.
    let mut watcher = Watcher::new(&world, &mut on_tick);
    world.drive(default_stack(), &id, &mut watcher);
    assert_eq!(watcher.log, Vec::<String>::new());
}
