//! No statement may scan a table that grows.

mod crew;

use std::cell::RefCell;
use std::collections::BTreeSet;

use contract::domain::artifact::NewArtifact;
use contract::domain::attempt::{AttemptState, NewAttempt};
use contract::domain::change::Change;
use contract::domain::epoch::WritProgram;
use contract::domain::id::{Id, Kind, mint};
use contract::domain::limit_window::{LimitWindow, Reset, ResetBasis, Sighting};
use contract::domain::memory::{MemoryKind, MemoryScope, NewMemory, ValueType};
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::request::{Agent, RequestId};
use contract::domain::run::{DocumentKind, NewRun, Owner, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Claim, PlanPart};
use contract::domain::time::{Clock, Lease, Now};
use contract::domain::token::{NewToken, TokenScope};
use contract::domain::trust::{NewTrust, TrustBasis};
use testkit::{ManualClock, SeededIds};

use crate::{
    EventFilter, EventScope, NewEvent, RunFilter, Store, StoredAnswer, Stream, TakeableState, TaskFilter,
    TaskSearch, Tx,
};

thread_local! {
    static NOTED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Records a statement that was prepared on this thread.
pub(crate) fn note(sql: &str) {
    NOTED.with_borrow_mut(|noted| noted.insert(sql.to_owned()));
}

/// The faults in the query plans of the statements that `call` prepares.
fn faults(tx: &Tx<'_>, call: impl FnOnce(&Tx<'_>)) -> Vec<String> {
    NOTED.take();
    call(tx);
    let statements = NOTED.take();
    assert!(!statements.is_empty(), "the call prepared no statement");
    let mut faults = Vec::new();
    for sql in statements {
        let mut explained = tx.sql.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        // Values do not matter: there are no statistics, so a plan depends on its statement alone.
        let mut rows = explained.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let line: String = row.get(3).unwrap();
            // `sqlite_sequence` has one row per AUTOINCREMENT table, and there is one such table.
            if line == "SCAN sqlite_sequence" {
                continue;
            }
            if line.starts_with("SCAN") || line.contains("TEMP B-TREE") {
                faults.push(format!("{line}: {}", sql.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
    }
    faults
}

#[track_caller]
fn looks_up(tx: &Tx<'_>, what: &str, call: impl FnOnce(&Tx<'_>)) {
    assert_eq!(faults(tx, call), Vec::<String>::new(), "{what}");
}

/// Every statement of the call uses an index whose name begins so.
#[track_caller]
fn uses(tx: &Tx<'_>, index: &str, call: impl FnOnce(&Tx<'_>)) {
    NOTED.take();
    call(tx);
    for sql in NOTED.take() {
        let mut explained = tx.sql.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = explained.raw_query();
        let line: String = rows.next().unwrap().unwrap().get(3).unwrap();
        assert!(line.contains(&format!("USING INDEX {index}")), "{line}: {sql}");
    }
}

fn process(pid: u32) -> Owner {
    Owner {
        pid,
        start_time: 1,
        boot_id: "b".to_owned(),
        within: Vec::new(),
        machine: String::new(),
        store: None,
    }
}

fn id<K: Kind>(bits: u128) -> Id<K> {
    Id::from_bits(bits)
}

#[test]
fn lists_are_look_ups() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.read().unwrap();
    let now = ManualClock::new().now();

    let some = || Some("x".to_owned());
    let filters = [
        EventFilter::default(),
        EventFilter { agent: some(), ..EventFilter::default() },
        EventFilter { task_id: some(), ..EventFilter::default() },
        EventFilter { kinds: vec!["x".to_owned()], ..EventFilter::default() },
        EventFilter { kinds: vec!["x".to_owned(), "y".to_owned()], ..EventFilter::default() },
        EventFilter { corr: some(), ..EventFilter::default() },
        EventFilter { agent: some(), kinds: vec!["x".to_owned()], ..EventFilter::default() },
        EventFilter { agent: some(), without_bookkeeping: true, ..EventFilter::default() },
    ];
    for filter in filters {
        for oldest_first in [true, false] {
            let filter = EventFilter { oldest_first, limit: 10, after_id: 5, ..filter.clone() };
            looks_up(&tx, &format!("{filter:?}"), |tx| drop(tx.events(&filter).unwrap()));
            let live = EventFilter { without_archived: true, ..filter };
            looks_up(&tx, &format!("{live:?}"), |tx| drop(tx.events(&live).unwrap()));
        }
    }
    for project_id in [None, some()] {
        for priority in [None, Some(1)] {
            for statuses in [vec![], vec![Status::Todo], vec![Status::Blocked, Status::Failed]] {
                let filter = TaskFilter { statuses, project_id: project_id.clone(), priority, limit: 10 };
                let narrowed = project_id.is_some() || priority.is_some() || !filter.statuses.is_empty();
                if !narrowed {
                    continue;
                }
                looks_up(&tx, &format!("{filter:?}"), |tx| drop(tx.tasks(&filter).unwrap()));
            }
        }
    }
    let by_state = RunFilter { state: Some(RunState::Running), limit: 10 };
    looks_up(&tx, "runs in a state", |tx| drop(tx.runs(&by_state).unwrap()));
    looks_up(&tx, "a run", |tx| drop(tx.run(&id(1)).unwrap()));
    looks_up(&tx, "a run by its correlation", |tx| drop(tx.run_by_corr("x").unwrap()));
    looks_up(&tx, "where a session works", |tx| drop(tx.workspaces_of_session("x").unwrap()));
    uses(&tx, "runs_by_parent", |tx| drop(tx.unended_children(&id(1)).unwrap()));
    looks_up(&tx, "tasks that abort a session", |tx| drop(tx.aborting_tasks("x").unwrap()));
    looks_up(&tx, "runs of a session", |tx| drop(tx.runs_of_session("x", 10).unwrap()));
    looks_up(&tx, "runs by prefix", |tx| drop(tx.run_ids_with_prefix("run_0", 2).unwrap()));
    looks_up(&tx, "a task", |tx| drop(tx.task(&id(1)).unwrap()));
    looks_up(&tx, "a task's state", |tx| assert_eq!(tx.task_status("task_1").unwrap(), None));
    looks_up(&tx, "tasks by prefix", |tx| drop(tx.task_ids_with_prefix("task_0", 2).unwrap()));
    looks_up(&tx, "a task of a plan", |tx| drop(tx.task_of_plan("run_1", "tests").unwrap()));
    looks_up(&tx, "tasks of a plan", |tx| drop(tx.tasks_of_plan_with_prefix("run_1", "te", 2).unwrap()));
    looks_up(&tx, "ready tasks", |tx| drop(tx.ready_tasks(10).unwrap()));
    looks_up(&tx, "ready tasks of a project", |tx| drop(tx.ready_in_project("p", 10).unwrap()));
    looks_up(&tx, "tasks of a run", |tx| drop(tx.tasks_of_run(&id(1)).unwrap()));
    looks_up(&tx, "priorities of a run", |tx| drop(tx.priorities_of_run(&id(1)).unwrap()));
    looks_up(&tx, "an agent's claims", |tx| drop(tx.claimed_by("x", &now).unwrap()));
    looks_up(&tx, "attempts of a task", |tx| drop(tx.attempts_of_task(&id(1)).unwrap()));
    looks_up(&tx, "an open attempt", |tx| assert!(!tx.has_open_attempt(&id(1)).unwrap()));
    looks_up(&tx, "open attempts", |tx| drop(tx.open_attempts(&id(1)).unwrap()));
    looks_up(&tx, "engines at work", |tx| drop(tx.engines_at_work().unwrap()));
    looks_up(&tx, "an agent's focus", |tx| drop(tx.focus_of("x").unwrap()));
    looks_up(&tx, "an event", |tx| drop(tx.event_by_id("x").unwrap()));
    looks_up(&tx, "an access token", |tx| drop(tx.access_token(&Id::from_bits(1)).unwrap()));
    looks_up(&tx, "a limit window", |tx| assert_eq!(tx.limit_window("claude").unwrap(), None));
    looks_up(&tx, "a task that waits for a limit", |tx| assert_eq!(tx.limit_waiter(&id(1)).unwrap(), None));
    looks_up(&tx, "tasks that wait for a limit", |tx| assert_eq!(tx.limit_waiters("claude").unwrap(), 0));
    looks_up(&tx, "an attempt", |tx| assert_eq!(tx.attempt(&id(1)).unwrap(), None));
    looks_up(&tx, "an attempt's state", |tx| assert_eq!(tx.attempt_state(&id(1)).unwrap(), None));
    looks_up(&tx, "a trusted project", |tx| assert_eq!(tx.trust("/w").unwrap(), None));
}

#[test]
fn what_a_resuming_agent_reads_are_look_ups() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.read().unwrap();
    let now = ManualClock::new().now();
    let place = MemoryScope::global();
    looks_up(&tx, "an agent", |tx| drop(tx.agent("x").unwrap()));
    looks_up(&tx, "a cursor", |tx| assert_eq!(tx.cursor("x", Some("p")).unwrap(), 0));
    looks_up(&tx, "a project", |tx| drop(tx.project_row("p").unwrap()));
    for waiting in [TakeableState::Ready, TakeableState::Abandoned] {
        for project in [None, Some("p")] {
            looks_up(&tx, &format!("{waiting:?} in {project:?}"), |tx| {
                drop(tx.takeable(waiting, TaskSearch { agent: "a", project }, &now, 10).unwrap());
            });
        }
    }
    for project in [None, Some("p")] {
        looks_up(&tx, "events since", |tx| drop(tx.events_since(5, project, 10).unwrap()));
        looks_up(&tx, "finished tasks", |tx| drop(tx.finished_tasks(project, 10).unwrap()));
        looks_up(&tx, "tallies", |tx| drop(tx.task_tallies(project).unwrap()));
        looks_up(&tx, "claimed tasks", |tx| drop(tx.claimed_tasks(project, &now, 10).unwrap()));
    }
    for scope in [EventScope::Task(&id(1)), EventScope::Project("p")] {
        looks_up(&tx, "what was said", |tx| drop(tx.said(scope, 10).unwrap()));
        uses(&tx, "events_notes", |tx| drop(tx.said(scope, 10).unwrap()));
        looks_up(&tx, "what repeats", |tx| drop(tx.repeated(scope, "last_words", 10).unwrap()));
        uses(&tx, "events_repeated", |tx| drop(tx.repeated(scope, "last_words", 10).unwrap()));
    }
    let alone = EventScope::ProjectAlone("p");
    looks_up(&tx, "what was said outside tasks", |tx| drop(tx.said(alone, 10).unwrap()));
    uses(&tx, "events_notes_without_task", |tx| drop(tx.said(alone, 10).unwrap()));
    looks_up(&tx, "dependencies", |tx| drop(tx.dependencies(&id(1)).unwrap()));
    looks_up(&tx, "dependents", |tx| drop(tx.dependents(&id(1), 10).unwrap()));
    looks_up(&tx, "dependents that wait", |tx| drop(tx.unblocked_dependents(&id(1)).unwrap()));
    looks_up(&tx, "a memory", |tx| drop(tx.memory(&place, "k").unwrap()));
    looks_up(&tx, "memories", |tx| drop(tx.memories(&place, now.at, 10).unwrap()));
    looks_up(&tx, "expired memories", |tx| drop(tx.expired_memories(now.at, 10).unwrap()));
    looks_up(&tx, "artifacts", |tx| drop(tx.artifacts(&id(1), 10).unwrap()));
}

#[test]
fn what_a_crew_holds_is_looked_up() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.read().unwrap();
    let now = ManualClock::new().now();
    let place = |text: &str| contract::domain::scope::Scope::parse(text, None).unwrap();
    for text in ["/w/src/a.rs", "/"] {
        looks_up(&tx, "locks around", |tx| drop(tx.locks_around(&place(text)).unwrap()));
    }
    looks_up(&tx, "locks of a task", |tx| drop(tx.locks_of_task(&id(1)).unwrap()));
    looks_up(&tx, "locks of a run", |tx| drop(tx.active_locks_of_run(&id(1)).unwrap()));
    looks_up(&tx, "all locks of a run", |tx| drop(tx.lock_history(&id(1), 5).unwrap()));
    looks_up(&tx, "a ledger", |tx| drop(tx.ledger_rows(&id(1)).unwrap()));
    looks_up(&tx, "a task by its name", |tx| {
        drop(tx.task_named(&id(1), &contract::domain::crew::reference_of(1)).unwrap());
    });
    looks_up(&tx, "its version", |tx| assert_eq!(tx.ledger_version(&id(1)).unwrap(), 0));
    looks_up(&tx, "a row", |tx| drop(tx.ledger_row(&id(1)).unwrap()));
    looks_up(&tx, "a delta", |tx| drop(tx.applied_delta(&id(1), "d").unwrap()));
    looks_up(&tx, "blockers", |tx| drop(tx.blockers_of_run(&id(1)).unwrap()));
    looks_up(&tx, "a blocker", |tx| drop(tx.blocker_of_task(&id(1)).unwrap()));
    looks_up(&tx, "an assignment", |tx| drop(tx.assignment(1).unwrap()));
    looks_up(&tx, "the last assignment", |tx| drop(tx.last_assignment(&id(1)).unwrap()));
    looks_up(&tx, "results", |tx| drop(tx.results_of_run(&id(1)).unwrap()));
    looks_up(&tx, "the last result", |tx| drop(tx.last_result(&id(1)).unwrap()));
    looks_up(&tx, "a worklog", |tx| drop(tx.worklog(&id(1)).unwrap()));
    looks_up(&tx, "its end", |tx| assert_eq!(tx.worklog_end(&id(1)).unwrap(), None));
    looks_up(&tx, "whose lines", |tx| drop(tx.worklog_tokens(&id(1)).unwrap()));
    looks_up(&tx, "the highest token", |tx| assert_eq!(tx.fencing_of_run(&id(1)).unwrap(), 0));
    looks_up(&tx, "deltas", |tx| drop(tx.applied_deltas(&id(1)).unwrap()));
    looks_up(&tx, "a purse", |tx| assert_eq!(tx.purse(&id(1)).unwrap(), None));
    looks_up(&tx, "delegated amounts", |tx| assert!(tx.delegated("corr", &id(1)).unwrap().used().is_zero()));
    looks_up(&tx, "booked amounts", |tx| assert!(tx.booked(&id(1), &id(1)).unwrap().is_zero()));
    looks_up(&tx, "runs of a work item", |tx| drop(tx.runs_of_corr("corr", 5).unwrap()));
    looks_up(&tx, "reservations", |tx| drop(tx.open_reservations(&id(1)).unwrap()));
    looks_up(&tx, "withheld amounts", |tx| drop(tx.withheld_reservations(&id(1)).unwrap()));
    looks_up(&tx, "an approval", |tx| drop(tx.approval(&id(1)).unwrap()));
    looks_up(&tx, "approvals of a task", |tx| drop(tx.approvals_of_task(&id(1)).unwrap()));
    looks_up(&tx, "approvals of a run", |tx| drop(tx.approvals_of_run(&id(1), 5).unwrap()));
    let pending = contract::domain::crew::approval::ApprovalState::Pending;
    looks_up(&tx, "open approvals", |tx| drop(tx.approvals_in(pending, 5).unwrap()));
    // Active locks are read from their own index, and nothing else is read.
    let held = faults(&tx, |tx| drop(tx.expired_locks(&now).unwrap()));
    assert_eq!(
        held.iter().map(|fault| plan_of(fault)).collect::<Vec<_>>(),
        ["SCAN locks USING INDEX locks_held"]
    );
}

#[test]
fn a_list_without_a_filter_walks_an_index_to_its_limit() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.read().unwrap();
    let runs = faults(&tx, |tx| drop(tx.runs(&RunFilter { state: None, limit: 10 }).unwrap()));
    let tasks = faults(&tx, |tx| drop(tx.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() }).unwrap()));
    let plans: Vec<String> = [runs, tasks].concat().iter().map(|fault| plan_of(fault)).collect();
    assert_eq!(plans, ["SCAN runs USING INDEX runs_by_time", "SCAN tasks USING INDEX tasks_by_priority"]);
}

#[test]
fn words_are_looked_up_and_only_what_matches_is_sorted() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.read().unwrap();
    let now = ManualClock::new().now();
    let found = faults(&tx, |tx| drop(tx.memories_with(&["a", "b"], now.at, 10).unwrap()));
    let plans: Vec<String> = found.iter().map(|fault| plan_of(fault)).collect();
    // A virtual table reports a scan even if its own index is used; `M` stands for a full-text match.
    assert_eq!(plans, ["SCAN w VIRTUAL TABLE INDEX 0", "USE TEMP B-TREE FOR ORDER BY"]);
    assert!(found[0].starts_with("SCAN w VIRTUAL TABLE INDEX 0:M"), "{found:?}");
}

#[test]
fn a_verification_reads_each_stream_once() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.begin().unwrap();
    let now = ManualClock::new().now();
    tx.append(&Stream::Store, event(&mut SeededIds::new(1), &now)).unwrap();
    let found = faults(&tx, |tx| assert!(tx.verify(None).unwrap().is_clean()));
    let plans: Vec<String> = found.iter().map(|fault| plan_of(fault)).collect();
    // All heads are needed; of the events, only the first one is read here.
    assert_eq!(plans.len(), 2, "{found:?}");
    assert!(
        plans[0].starts_with("SCAN events USING COVERING INDEX") && found[0].ends_with("LIMIT 1"),
        "{found:?}"
    );
    assert!(plans[1].starts_with("SCAN heads"), "{found:?}");
}

fn plan_of(fault: &str) -> String {
    fault.split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn writes_touch_only_their_rows() {
    let mut store = Store::in_memory().unwrap();
    let tx = store.begin().unwrap();
    let now = ManualClock::new().now();
    let mut ids = SeededIds::new(1);
    for change in one_of_each(&now).into_iter().chain(one_of_each_for_agents()) {
        looks_up(&tx, change.kind(), |tx| {
            tx.change(&Stream::Store, event(&mut ids, &now), &change).unwrap();
        });
    }
    let lease = Lease { boot_id: "b".to_owned(), until_millis: 5 };
    let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse("r").unwrap());
    let answered = StoredAnswer { operation: "o".to_owned(), fingerprint: "f".to_owned(), answer: None };
    looks_up(&tx, "renew a claim", |tx| tx.renew_claim(&id(2), &lease).unwrap());
    looks_up(&tx, "renew claims", |tx| tx.renew_claims("a", None, &now, &lease).unwrap());
    looks_up(&tx, "renew a run", |tx| tx.renew_ownership(&id(1), &lease).unwrap());
    looks_up(&tx, "heartbeat", |tx| tx.heartbeat(&id(4), now.at).unwrap());
    looks_up(&tx, "a cursor", |tx| tx.advance_cursor("a", None, 5, now.at).unwrap());
    looks_up(&tx, "memories handed out", |tx| tx.memories_handed_out(&[1], now.at).unwrap());
    looks_up(&tx, "renew locks", |tx| assert!(!tx.renew_locks(1, &lease).unwrap()));
    looks_up(&tx, "record a worker heartbeat", |tx| tx.record_heartbeat(&id(2), &now).unwrap());
    looks_up(&tx, "a counter", |tx| assert_eq!(tx.next_number("fencing").unwrap(), 1));
    looks_up(&tx, "no answer yet", |tx| drop(tx.stored_answer(&agent, &request).unwrap()));
    looks_up(&tx, "an answer", |tx| tx.keep_answer(&agent, &request, &answered, now.at).unwrap());
    let (number, stream) = (tx.events_ever().unwrap(), Stream::Store.name());
    looks_up(&tx, "streams", |tx| drop(tx.streams_after("", 10).unwrap()));
    looks_up(&tx, "a stream", |tx| assert!(tx.stream_extent(&stream).unwrap().is_some()));
    looks_up(&tx, "outlines", |tx| drop(tx.outlines(&stream, 0, 10).unwrap()));
    looks_up(&tx, "archive", |tx| tx.archive(&stream, 1).unwrap());
    looks_up(&tx, "prune", |tx| drop(tx.prune(&stream, number).unwrap()));
    looks_up(&tx, "old answers", |tx| assert_eq!(tx.forget_answers(now.at, 10).unwrap(), 0));
}

fn event(ids: &mut SeededIds, now: &Now) -> NewEvent {
    NewEvent {
        event_id: mint(ids, now.at),
        at: now.at,
        r#type: "event",
        from: String::new(),
        to: String::new(),
        intent: String::new(),
        corr: String::new(),
        reply_to: None,
        priority: "normal",
        requires: None,
        payload: serde_json::Value::Null,
        kind: String::new(),
        agent: String::new(),
        project_id: None,
        task_id: None,
        run_id: None,
        message: String::new(),
    }
}

fn memory(number: i64) -> NewMemory {
    NewMemory {
        id: number,
        place: MemoryScope::global(),
        key: number.to_string(),
        value: String::new(),
        value_type: ValueType::String,
        kind: MemoryKind::Fact,
        half_life_days: None,
        pinned: false,
        expires_at: None,
        source_task_id: None,
    }
}

/// One change of each kind for tasks and runs, in an order in which each is valid.
fn one_of_each(now: &Now) -> Vec<Change> {
    let crew = crew::one_of_each(now).into_iter().map(Change::Crew);
    one_of_each_task_and_run(now).into_iter().chain(crew).collect()
}

fn an_owner() -> Owner {
    Owner {
        pid: 1,
        start_time: 1,
        boot_id: "b".to_owned(),
        within: Vec::new(),
        machine: String::new(),
        store: None,
    }
}

fn one_of_each_task_and_run(now: &Now) -> Vec<Change> {
    let owner = an_owner();
    let run = NewRun {
        id: id(1),
        corr: "c".to_owned(),
        origin_id: "o".to_owned(),
        kind: DocumentKind::Plan,
        objective: "o".to_owned(),
        workspace: "/w".to_owned(),
        plan: Plan::default(),
        plan_priority: None,
        intent: None,
        requested_by: "r".to_owned(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: "d".to_owned(),
        environment: None,
        session_id: None,
        warnings: Vec::new(),
    };
    let created = |task: u128, depends_on: Vec<u128>| Change::TaskCreated {
        task_id: id(task),
        title: "t".to_owned(),
        description: String::new(),
        priority: 0,
        project_id: None,
        part: Some(PlanPart { run_id: id(1), number: 1, spec: PlanTask::minimal("t") }),
        depends_on: depends_on.into_iter().map(id).collect(),
        checks: None,
    };
    let moved = |from, to| Change::TaskMoved { task_id: id(2), from, to, evidence: None, reason: None };
    let attempt = NewAttempt {
        id: id(4),
        task_id: id(2),
        run_id: id(1),
        number: 1,
        executor: "shell".to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner.clone(),
    };
    let claim = Claim {
        agent: "a".to_owned(),
        token: 1,
        lease: Lease::starting(now, std::time::Duration::ZERO),
        holder: None,
        since: None,
    };
    vec![
        Change::RunSubmitted { run },
        Change::RunOwned { run_id: id(1), owner },
        Change::RunMoved { run_id: id(1), from: RunState::Submitted, to: RunState::Running, result: None },
        Change::RunCancelRequested { run_id: id(1), reason: None },
        created(2, vec![]),
        created(3, vec![2]),
        Change::TaskClaimed { task_id: id(2), claim },
        Change::TaskReleased { task_id: id(2) },
        Change::AgentFocused { agent: "a".to_owned(), task_id: Some(id(2)), project_id: None },
        moved(Status::Todo, Status::Done),
        Change::AttemptStarted { attempt, dispatch: None },
        Change::AttemptEnded { attempt_id: id(4), state: AttemptState::Succeeded, outcome: Box::default() },
    ]
}

/// One change of each kind that only the agents' verbs make, to be applied after the others.
fn one_of_each_for_agents() -> Vec<Change> {
    vec![
        Change::TaskPrioritized { task_id: id(2), priority: 5 },
        Change::TaskPinned { task_id: id(2), files: std::collections::BTreeMap::new() },
        Change::DependencyRemoved { task_id: id(3), depends_on: id(2) },
        Change::DependencyAdded { task_id: id(3), depends_on: id(2) },
        Change::ProjectAdded { project_id: "p".to_owned(), name: "p".to_owned() },
        Change::ProjectTrusted {
            trust: NewTrust {
                directory: "/w".to_owned(),
                digest: "d".to_owned(),
                commands: vec!["c".to_owned()],
                trusted_by: "human.ann".to_owned(),
                basis: TrustBasis::default(),
            },
        },
        Change::ProjectTrustRevoked { directory: "/w".to_owned() },
        Change::ProgramStarted { program: WritProgram { process: process(1), command: "loop".to_owned() } },
        Change::ProgramEnded { process: process(1) },
        Change::Halted { epoch: 1, reason: None, by: "human.ann".to_owned() },
        Change::HaltLifted { epoch: 2, by: "human.ann".to_owned() },
        Change::TokenCreated {
            token: NewToken {
                id: Id::from_bits(1),
                name: "ci".to_owned(),
                scope: TokenScope::Approve,
                hash: "sha256:0".to_owned(),
                created_by: "human.ann".to_owned(),
                expires_at: None,
            },
        },
        Change::TokenUsed { token_id: Id::from_bits(1) },
        Change::TokenRevoked { token_id: Id::from_bits(1) },
        Change::MemorySet { memory: memory(1) },
        Change::MemorySet { memory: memory(2) },
        Change::MemoryPinned { place: MemoryScope::global(), key: "1".to_owned(), pinned: true },
        Change::MemoryDeleted { place: MemoryScope::global(), key: "1".to_owned() },
        Change::MemoryCollected { ids: vec![2] },
        Change::ArtifactAdded {
            artifact: NewArtifact {
                id: id(5),
                task_id: id(3),
                project_id: None,
                file_path: "f".to_owned(),
                content_type: "text/plain".to_owned(),
            },
        },
        Change::LimitWindowSet { window: Box::new(limit_window("claude")) },
        Change::TaskWaitsForLimit { task_id: id(2), resource: "claude".to_owned() },
        Change::TaskLimitWaitEnded { task_id: id(2) },
        Change::TaskWaitsForLimit { task_id: id(2), resource: "claude".to_owned() },
        Change::LimitWindowEnded { resource: "claude".to_owned(), by: None },
        Change::TaskDeleted { task_id: id(3) },
    ]
}

fn limit_window(resource: &str) -> LimitWindow {
    let at = ManualClock::new().now().at;
    LimitWindow {
        resource: resource.to_owned(),
        reset: Reset { at, boot_id: "b".to_owned(), boot_millis: 5 },
        basis: ResetBasis::Estimate,
        reason: "r".to_owned(),
        seen: Sighting { run_id: id(1), task_id: id(2), attempt_id: id(4), at },
        times: 1,
        resuming: None,
    }
}
