//! A store with a clock and ids that repeat, and short ways to call the verbs on it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use contract::continuity::state::{CloseOutcome, TaskState};
use contract::domain::attempt::AttemptId;
use contract::domain::check::Check;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::Id;
use contract::domain::memory::Scope;
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::request::{Agent, RequestId};
use contract::domain::run::{DocumentKind, Owner, RunId};
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::domain::trust::ProjectCommands;
use contract::domain::worktree::WorktreeRecord;
use ops::context::{Origin, fact};
use ops::names::Names;
use ops::run::own::Owned;
use ops::{Caller, Context, Session, Tip, memory, run, task};
use store::Store;
use testkit::{ManualClock, TempStore};

use crate::host::TestHost;

pub(crate) struct World {
    pub(crate) temp: TempStore,
    pub(crate) cx: Context,
    pub(crate) host: Rc<TestHost>,
    /// Set anew, the short ways below make new things instead of returning those that they made before.
    pub(crate) round: u32,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = TempStore::new();
        let host = TestHost::new();
        let cx = host.open(&temp.path(), Arc::new(temp.clock()), 1);
        Self { temp, cx, host, round: 0 }
    }

    pub(crate) fn clock(&self) -> ManualClock {
        self.temp.clock()
    }

    /// Another process that uses the same store, to be opened while a person thinks.
    pub(crate) fn elsewhere(&self) -> impl Fn() -> Context + use<> {
        let (path, clock) = (self.temp.path(), self.temp.clock());
        move || TestHost::new().open(&path, Arc::new(clock.clone()), 99)
    }

    /// What happens while the next person thinks about a question.
    pub(crate) fn while_asking(&self, happens: impl FnOnce() + 'static) {
        self.host.while_asking.replace(Some(Box::new(happens)));
    }

    /// Everything that is written, except when leases end.
    pub(crate) fn state(&self) -> (Vec<String>, Tip) {
        let mut store = Store::open(&self.temp.path(), Timestamp::from_millis(0)).unwrap();
        let rows = store.rows().unwrap();
        let tip = store.read().unwrap().tip().unwrap();
        (rows, tip)
    }

    /// Writes an event that confirms to later calls that it is as late as the clock says.
    pub(crate) fn confirm_time(&mut self) {
        let now = self.temp.now().at;
        let request = serde_json::json!({"kind": "note", "message": "it is late"});
        let request = serde_json::from_value(request).unwrap();
        ops::event::note::note(&mut self.cx, &key("clock", &format!("it is {now} {}", self.round)), &request)
            .unwrap();
    }

    /// The id of a new task.
    pub(crate) fn task(&mut self, title: &str) -> String {
        let request = create(title);
        task::create::create(&mut self.cx, &key("setup", &format!("make {title} {}", self.round)), &request)
            .unwrap()
            .answer
            .task
            .id
    }

    /// The id of a new task that has a clone with work.
    pub(crate) fn clone_of(&mut self, title: &str) -> String {
        let id = self.task(title);
        self.host.paper.borrow_mut().clone = Some(WorktreeRecord {
            run_id: Id::from_bits(1),
            task_id: Id::parse(&id).unwrap(),
            name: title.to_owned(),
            workspace: "/w".to_owned(),
            base: "b".to_owned(),
            ports: None,
            set_up: 0,
            created_at: Timestamp::from_millis(0),
        });
        id
    }

    /// The key of a new memory.
    pub(crate) fn memory(&mut self, name: &str) -> String {
        let key = key("setup", &format!("remember {name} {}", self.round));
        memory::set::set(&mut self.cx, &key, &remember(name, "v", None)).unwrap().answer.key
    }

    /// Ends a task well.
    pub(crate) fn close(&mut self, id: &str) {
        let request = task::complete::Request {
            id: id.to_owned(),
            outcome: CloseOutcome::Done,
            summary: "well".to_owned(),
            label: None,
            blocked_reason: None,
        };
        task::complete::complete(&mut self.cx, &key("ann", &format!("close {id}")), &request).unwrap();
    }

    /// Trusts the commands of a project.
    pub(crate) fn trust(&mut self, directory: &str) {
        self.host.paper.borrow_mut().project = Some(commands());
        let request = ops::trust::grant::Request { directory: directory.to_owned() };
        let key = key("person", &format!("trust {directory}"));
        ops::trust::grant::grant(&mut self.cx, &key, &request).unwrap();
    }

    pub(crate) fn status(&mut self, agent: Option<&str>) -> ops::status::Answer {
        let request = ops::status::Request { agent: agent.map(str::to_owned), check: false };
        ops::verb::call::<ops::status::Show>(&mut self.cx, &crate::world::reader(), &request).unwrap().answer
    }

    pub(crate) fn get(&mut self, id: &str) -> Task {
        task::get::get(&mut self.cx, &crate::world::reader(), id).unwrap()
    }

    /// Submits a plan of tasks that each depend on the one before.
    pub(crate) fn run(&mut self, names: &[&str]) -> RunId {
        let request = submit(names);
        let key = key("setup", &format!("run {} {}", names.join(" "), self.round));
        run::accept::submit(&mut self.cx, &key, &request).unwrap().answer.run_id
    }

    pub(crate) fn task_of(&mut self, run: &RunId, name: &str) -> Task {
        let tasks = run::show::tasks(&mut self.cx, run).unwrap();
        let named = |task: &Task| task.part.as_ref().is_some_and(|part| part.spec.id == name);
        tasks.into_iter().find(named).unwrap()
    }

    /// Takes the run for an engine.
    pub(crate) fn own(&mut self, run: &RunId, pid: u32) {
        let taken = run::own::take(&mut self.cx, &caller("writ"), run, &owner(pid)).unwrap();
        assert!(matches!(taken, Owned::Mine(_)), "{taken:?}");
    }
}

pub(crate) use ops::run::Liveness::{Alive as ALIVE, Dead as DEAD, Unseen as UNSEEN};

pub(crate) fn context(path: &Path, clock: &ManualClock, seed: u64) -> Context {
    TestHost::new().open(path, Arc::new(clock.clone()), seed)
}

pub(crate) fn caller(agent: &str) -> Caller {
    Caller::agent(Agent::parse(agent).unwrap())
}

thread_local! {
    /// From where the calls of this test come.
    static PLACE: RefCell<CallPlace> = RefCell::default();
}

#[derive(Clone, Default)]
struct CallPlace {
    names: Names,
    attempt: Option<AttemptId>,
    token: Option<String>,
}

/// What names mean to callers from now on.
pub(crate) fn understand_names(names: Names) {
    PLACE.with_borrow_mut(|place| place.names = names);
}

/// The attempt that calls come from.
pub(crate) fn call_from(attempt: Option<AttemptId>) {
    PLACE.with_borrow_mut(|place| place.attempt = attempt);
}

/// The access token that callers present.
pub(crate) fn present(token: &str) {
    PLACE.with_borrow_mut(|place| place.token = Some(token.to_owned()));
}

pub(crate) fn key(agent: &str, request: &str) -> Session {
    let CallPlace { names, attempt, token } = PLACE.with_borrow(Clone::clone);
    let origin = Origin {
        person: "eve".to_owned(),
        attempt: fact(attempt),
        environment: fact(AuthorEnvironment::of([("PATH".to_owned(), Some("/author/bin".to_owned()))])),
        access_token: Box::new(move || Ok(token.clone())),
        ..Origin::default()
    };
    let session = Session::new(caller(agent), RequestId::parse(request).unwrap());
    Session { names, origin: Arc::new(origin), ..session }
}

/// A caller that changes nothing.
pub(crate) fn reader() -> Session {
    Session { request_id: None, ..key("reader", "none") }
}

pub(crate) fn owner(pid: u32) -> Owner {
    Owner {
        pid,
        start_time: 1,
        boot_id: "boot-1".to_owned(),
        within: Vec::new(),
        machine: String::new(),
        store: None,
    }
}

pub(crate) fn create(title: &str) -> task::create::Request {
    task::create::Request { title: title.to_owned(), ..task::create::Request::default() }
}

/// The commands of a project with one check.
pub(crate) fn commands() -> ProjectCommands {
    let check = Check::of_arguments(vec!["cargo".to_owned(), "test".to_owned()]);
    ProjectCommands { checks: vec![check], ..ProjectCommands::default() }
}

pub(crate) fn begin(id: &str) -> task::begin::Request {
    task::begin::Request { id: id.to_owned() }
}

pub(crate) fn set_status(id: &str, status: &str) -> task::set_status::Request {
    task::set_status::Request {
        id: id.to_owned(),
        status: TaskState::named(status).unwrap(),
        blocked_reason: None,
    }
}

pub(crate) fn complete(id: &str, outcome: &str) -> task::complete::Request {
    task::complete::Request {
        id: id.to_owned(),
        outcome: CloseOutcome::named(outcome).unwrap(),
        summary: "what was done".to_owned(),
        label: None,
        blocked_reason: None,
    }
}

pub(crate) fn pushed(document: serde_json::Value) -> ops::push::Request {
    ops::push::Request::of(document).unwrap()
}

/// A value for everyone, under a key.
pub(crate) fn remember(key: &str, value: &str, expires_in: Option<&str>) -> memory::set::Request {
    memory::set::Request {
        expires_in: expires_in.map(str::to_owned),
        ..memory::set::Request::new(key, value)
    }
}

pub(crate) fn named(key: &str) -> memory::Name {
    memory::Name { key: key.to_owned(), scope: Scope::Global, scope_id: None }
}

/// The same memory, to be pinned.
pub(crate) fn pinned(key: &str, unpin: bool) -> memory::pin::Request {
    memory::pin::Request { key: key.to_owned(), scope: Scope::Global, scope_id: None, unpin }
}

pub(crate) fn cancel(id: &str) -> run::cancel::Request {
    run::cancel::Request { id: id.to_owned(), reason: None }
}

/// A plan of tasks that each depend on the one before.
pub(crate) fn submit(names: &[&str]) -> run::accept::Submission {
    let mut tasks: Vec<PlanTask> = names.iter().map(|name| PlanTask::minimal(name)).collect();
    for index in 1..tasks.len() {
        tasks[index].depends_on = vec![names[index - 1].to_owned()];
    }
    let objective = format!("do {}", names.join(", "));
    run::accept::Submission {
        kind: DocumentKind::Plan,
        document_digest: format!("sha256:{}", names.join("-")),
        aop: run::accept::AopSubmission::default(),
        plan: Plan {
            objective: objective.clone(),
            workspace: None,
            max_parallel: 2,
            tasks,
            ..Plan::default()
        },
        objective,
        workspace: "/workspace".to_owned(),
        intent: None,
        corr: None,
        depth: 1,
        parent_run: None,
        parent_task: None,
    }
}
