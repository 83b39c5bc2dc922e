//! A ledger in a store, and short ways to work on it.

use std::cell::RefMut;

use contract::domain::change::Change;
use contract::domain::check::CheckSeen;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::{Amount, Bound, Purse};
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::LockToken;
use contract::domain::id::{Id, mint};
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::run::{DocumentKind, NewRun, RunId};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{PlanPart, TaskId};
use contract::domain::time::Timestamp;
use ops::verdict::VerdictAnswer;
use ops::{Context, Error, Result, assignment, budget, ledger, lock, orchestrate, result, watchdog, worklog};
use serde_json::{Value, json};
use store::Stream;
use testkit::SeededIds;

use crate::host::Paper;
use crate::world::{World, caller, key};

pub(crate) const RUN: &str = "3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4";
pub(crate) const WORKSPACE: &str = "/srv/repo";

pub(crate) struct Crew {
    pub(crate) world: World,
    pub(crate) run: String,
    pub(crate) workspace: String,
    calls: u32,
}

/// The token that the store gives out for a task and a number.
pub(crate) fn proved(world: &World, task_id: &str, number: i64) -> LockToken {
    let store = store::Store::open(&world.temp.path(), world.temp.now().at).unwrap();
    let parts: [&[u8]; 2] = [task_id.as_bytes(), &number.to_be_bytes()];
    LockToken::proved(number, &store.key().unwrap().mac("token of a lock grant", &parts)).unwrap()
}

impl Crew {
    pub(crate) fn new() -> Self {
        Self { world: World::new(), run: RUN.to_owned(), workspace: WORKSPACE.to_owned(), calls: 0 }
    }

    /// What the machine looks like from now on.
    pub(crate) fn paper(&self) -> RefMut<'_, Paper> {
        self.world.host.paper.borrow_mut()
    }

    /// Another run in another workspace from now on. Its id is made of the number of the call.
    pub(crate) fn move_on(&mut self) {
        self.calls += 1;
        self.run = format!("3f56dc4d-35cf-4f97-925c-{:012x}", self.calls);
        self.workspace = format!("/srv/other{}", self.calls);
        self.world.round = self.calls;
    }

    pub(crate) fn key(&mut self) -> ops::Session {
        self.calls += 1;
        key("orchestrator", &format!("call {}", self.calls))
    }

    /// A token of a task with its proof. A number is proved as the store would, whether it gave it out or not.
    pub(crate) fn token(&self, name: &str, token: impl Into<LockToken>) -> LockToken {
        let token = token.into();
        let mut cx = crate::world::context(&self.world.temp.path(), &self.world.clock(), 99);
        let shown = ledger::show::show(&mut cx, &ledger::show::Request { run: self.run.clone() });
        let mut rows = shown.into_iter().flat_map(|shown| shown.ledger).filter(|row| row["task_id"] == name);
        let task = rows.find_map(|row| row["x_task"].as_str().map(str::to_owned));
        match task {
            Some(task) if token.proof().is_none() => proved(&self.world, &task, token.number),
            _ => token,
        }
    }

    pub(crate) fn envelope(&self, deltas: Value) -> Value {
        let mut stuck: Vec<Value> = Vec::new();
        for delta in deltas.as_array().into_iter().flatten().filter(|delta| delta["status"] == "blocked") {
            stuck.push(json!({"task_id": delta["task_id"], "code": "TASK_TIMEOUT", "reason": "stuck"}));
        }
        json!({
            "schema_version": "1.0.0", "run_id": self.run, "ledger_delta": deltas, "assignments": [],
            "active_locks": [], "blockers": stuck, "next_actions": [],
        })
    }

    /// Sets the wall clock to when these deltas were written, if they say so.
    pub(crate) fn live_when(&self, deltas: &Value) {
        let beats = deltas.as_array().into_iter().flatten();
        let beats = beats.filter_map(|delta| delta["last_heartbeat_at"].as_str());
        if let Some(latest) = beats.filter_map(Timestamp::parse_utc).max() {
            self.world.clock().set_wall(latest);
        }
    }

    fn request(&self, document: Value, strict: bool) -> ledger::apply::Request {
        let workspace = Some(self.workspace.clone());
        ledger::apply::Request { document, objective: Some("an objective".to_owned()), workspace, strict }
    }

    pub(crate) fn apply(&mut self, document: Value, strict: bool) -> Result<ledger::apply::Answer> {
        let (key, request) = (self.key(), self.request(document, strict));
        Ok(ledger::apply::apply(&mut self.world.cx, &key, &request)?.answer)
    }

    pub(crate) fn step(&mut self, document: Value, strict: bool) -> Result<orchestrate::step::Answer> {
        let key = self.key();
        let request = orchestrate::step::Request {
            document: Some(document),
            program: None,
            objective: Some("an objective".to_owned()),
            workspace: Some(self.workspace.clone()),
            strict,
        };
        Ok(orchestrate::step::step(&mut self.world.cx, &key, &request)?.answer)
    }

    /// Makes a task that may change `scopes`.
    pub(crate) fn task(&mut self, name: &str, scopes: &[&str], more: Value) {
        let mut columns = json!({
            "title": name, "lock_scope": scopes, "acceptance_criteria": ["it works"], "timeout_seconds": 60,
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            columns[field] = value.clone();
        }
        let delta = json!({
            "task_id": name, "status": "todo", "owner": "", "reason": "new", "delta_id": format!("create {name}"),
            "x_intent": "create", "x_row": columns,
        });
        let envelope = self.envelope(json!([delta]));
        self.apply(envelope, false).unwrap();
    }

    pub(crate) fn issue(&mut self, name: &str) -> Result<assignment::issue::Answer> {
        self.issue_with(assignment::issue::Request { task: Some(name.to_owned()), ..Default::default() })
    }

    pub(crate) fn issue_with(
        &mut self,
        request: assignment::issue::Request,
    ) -> Result<assignment::issue::Answer> {
        let key = self.key();
        let worker = Some("worker".to_owned());
        let request = assignment::issue::Request {
            run: self.run.clone(),
            owner: request.owner.clone().or(worker),
            ..request
        };
        Ok(assignment::issue::issue(&mut self.world.cx, &key, &request)?.answer)
    }

    pub(crate) fn result(&self, name: &str, token: impl Into<LockToken>, status: &str) -> Value {
        let token = self.token(name, token);
        json!({
            "schema_version": "1.0.0", "run_id": self.run, "task_id": name, "status": status,
            "changes": [], "worklog_path": format!("worklogs/{name}.jsonl"),
            "notes_for_orchestrator": ["a note"],
            "acceptance_check": [{"criterion": "it works", "status": "pass", "evidence": "seen"}],
            "x_fencing_token": token.number, "x_token": token,
        })
    }

    pub(crate) fn submit(
        &mut self,
        document: Value,
        checks: Vec<CheckSeen>,
    ) -> Result<result::submit::Answer> {
        let key = self.key();
        self.paper().checks = Some(checks);
        let request =
            result::submit::Request { document, token: None, cost: None, tokens: None, strict: false };
        Ok(result::submit::submit(&mut self.world.cx, &key, &request)?.answer)
    }

    /// Appends a worklog entry that says why a task does not finish.
    pub(crate) fn explain(
        &mut self,
        name: &str,
        token: impl Into<LockToken>,
    ) -> Result<worklog::append::Answer> {
        let entry = json!({
            "action": "stop", "files_touched": [], "decision": "d", "result": "r", "code": "DEPENDENCY_NOT_MET",
            "next_step": "ask the author",
        });
        let (key, run, task) = (self.key(), self.run.clone(), name.to_owned());
        let token = Some(self.token(name, token));
        let request = worklog::append::Request { run, task, token, entry, strict: false };
        Ok(worklog::append::append(&mut self.world.cx, &key, &request)?.answer)
    }

    pub(crate) fn acquire(&mut self, name: &str, scopes: &[&str]) -> Result<LockToken> {
        self.acquire_with(lock::acquire::Request {
            run: self.run.clone(),
            task: name.to_owned(),
            resources: scopes.iter().map(|text| (*text).to_owned()).collect(),
            shared: false,
            timeout_seconds: None,
            token: None,
        })
    }

    pub(crate) fn acquire_with(&mut self, request: lock::acquire::Request) -> Result<LockToken> {
        let key = self.key();
        Ok(lock::acquire::acquire(&mut self.world.cx, &key, &request)?.answer.token)
    }

    pub(crate) fn heartbeat(
        &mut self,
        name: &str,
        token: impl Into<LockToken>,
    ) -> Result<ops::heartbeat::Answer> {
        let request = ops::heartbeat::Request {
            run: self.run.clone(),
            task: name.to_owned(),
            token: Some(self.token(name, token)),
            at: None,
        };
        ops::heartbeat::send(&mut self.world.cx, &crate::world::key("worker", "repeatable"), &request)
    }

    pub(crate) fn sweep(&mut self) -> watchdog::Answer {
        let request = watchdog::Request { run: Some(self.run.clone()) };
        watchdog::sweep(&mut self.world.cx, &caller("watchdog"), &request).unwrap()
    }

    pub(crate) fn show(&mut self) -> Value {
        let request = ledger::show::Request { run: self.run.clone() };
        json!(ledger::show::show(&mut self.world.cx, &request).unwrap())
    }

    pub(crate) fn reconciled(&mut self) -> VerdictAnswer {
        let request = ledger::show::Request { run: self.run.clone() };
        ledger::reconcile::reconcile(&mut self.world.cx, &request).unwrap()
    }

    pub(crate) fn purse(&mut self) -> Purse {
        purse(&mut self.world.cx, &self.run)
    }

    pub(crate) fn row(&mut self, name: &str) -> Value {
        let shown = self.show();
        let rows = shown["ledger"].as_array().unwrap();
        rows.iter().find(|row| row["task_id"] == name).unwrap().clone()
    }

    /// The log rebuilds the tables.
    pub(crate) fn holds(&mut self) {
        let differences = ops::audit::replay_differences(&mut self.world.cx).unwrap();
        assert_eq!(differences, Vec::<String>::new());
    }

    /// Writes a ledger as it stands in a vector, past all the verbs.
    pub(crate) fn seed(&mut self, base: &Value) -> Vec<(TaskRef, TaskId)> {
        let mut store = self.world.temp.open();
        let now = self.world.temp.now();
        let mut ids = SeededIds::new(77);
        let tx = store.begin().unwrap();
        let run_id: RunId = Id::from_uuid(&self.run).unwrap();
        let change = |ids: &mut SeededIds, change: Change| {
            let event = testkit::event(ids, &now, "seeded");
            tx.change(&Stream::Run(run_id.clone()), event, &change).unwrap();
        };
        change(&mut ids, Change::RunSubmitted { run: self.new_run(&run_id) });
        let mut made = Vec::new();
        for (number, (name, row)) in base["rows"].as_object().unwrap().iter().enumerate() {
            let reference = TaskRef::parse(name).unwrap();
            let row: CrewRow = serde_json::from_value(row.clone()).unwrap();
            let task_id: TaskId = mint(&mut ids, now.at);
            let number = contract::domain::crew::number_of(&reference)
                .unwrap_or_else(|| contract::domain::crew::unnumbered(number));
            let spec = PlanTask::minimal(name);
            change(&mut ids, created(&task_id, PlanPart { run_id: run_id.clone(), number, spec }));
            if row.status != Status::Todo {
                change(&mut ids, moved(&task_id, row.status));
            }
            let written = CrewChange::RowWritten {
                run_id: run_id.clone(),
                task_id: task_id.clone(),
                reference: reference.clone(),
                ledger_version: base["version"].as_u64().unwrap_or(0),
                delta: None,
                row: Box::new(row),
            };
            change(&mut ids, Change::Crew(written));
            made.push((reference, task_id));
        }
        tx.commit().unwrap();
        made
    }

    fn new_run(&self, id: &RunId) -> NewRun {
        NewRun {
            id: id.clone(),
            corr: "corr".to_owned(),
            origin_id: "evt_0".to_owned(),
            kind: DocumentKind::Ledger,
            objective: "objective".to_owned(),
            workspace: self.workspace.clone(),
            plan: Plan::default(),
            plan_priority: None,
            intent: None,
            requested_by: "human.a".to_owned(),
            depth: 1,
            parent_run: None,
            parent_task: None,
            document_digest: "sha256:0".to_owned(),
            environment: None,
            session_id: None,
            warnings: Vec::new(),
        }
    }
}

/// The budget of a run that has one.
pub(crate) fn purse(cx: &mut Context, run: &str) -> Purse {
    let shown =
        budget::show::show(cx, &crate::world::reader(), &budget::show::Request { run: run.to_owned() })
            .unwrap();
    let limit = shown.limit.unwrap();
    let most = limits::AMOUNT_MAX;
    let limit = Amount { cost: limit.cost.unwrap_or(MicroUsd(most)), tokens: limit.tokens.unwrap_or(most) };
    let purse = Purse {
        limit,
        reserved: shown.reserved.unwrap(),
        spent: shown.spent.unwrap(),
        withheld: shown.withheld.unwrap(),
    };
    assert_eq!(shown.free, Some(Bound::of(limit, purse.free())));
    purse
}

fn created(task_id: &TaskId, part: PlanPart) -> Change {
    Change::TaskCreated {
        task_id: task_id.clone(),
        title: "title".to_owned(),
        description: String::new(),
        priority: 0,
        project_id: None,
        part: Some(part),
        depends_on: Vec::new(),
        checks: None,
    }
}

fn moved(task_id: &TaskId, to: Status) -> Change {
    let evidence = (to == Status::Done).then_some(Evidence::Claimed);
    Change::TaskMoved { task_id: task_id.clone(), from: Status::Todo, to, evidence, reason: None }
}

/// The operator's code and rule behind an error.
pub(crate) fn denial(error: &Error) -> (String, String) {
    let rule = error.details["details"]["rule"].as_str().unwrap_or_default();
    (error.code.as_str().to_owned(), rule.to_owned())
}

#[track_caller]
pub(crate) fn denied<A: std::fmt::Debug>(answer: Result<A>, code: &str, rule: &str) {
    let error = answer.expect_err("it should be refused");
    assert_eq!(denial(&error), (code.to_owned(), rule.to_owned()), "{error}");
    assert_eq!(error.details["allow"], false, "{}", error.details);
}
