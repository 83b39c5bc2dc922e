//! What every verb needs: the store, the clock, fresh ids, the host, and who calls.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use contract::continuity::brief::{ProgramCommand, ProgramName};
use contract::domain::attempt::AttemptId;
use contract::domain::confinement::Ceiling;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::Minter;
use contract::domain::limits;
use contract::domain::principal::Principal;
use contract::domain::process::{Holder, StoreFile};
use contract::domain::request::{Agent, RequestId};
use contract::domain::task::NewClaim;
use contract::domain::time::{Clock, Now};
use store::{OpenTransactions, Store, Witness};

use crate::error::Result;
use crate::host::Host;
use crate::names::Names;

pub struct Context {
    pub(crate) store: Store,
    pub(crate) clock: SharedClock,
    pub(crate) ids: Box<dyn Minter>,
    /// What the caller wrote for the run, where the request that the verb gets has the run's id instead.
    pub(crate) run_as_written: Option<&'static str>,
    host: Rc<dyn Host>,
}

/// Where a second thread finds the store, and the epoch that it belongs to.
#[derive(Clone)]
pub(crate) struct StoreLocation {
    path: std::path::PathBuf,
    pub(crate) clock: SharedClock,
    epoch: i64,
}

impl StoreLocation {
    pub(crate) fn open(&self) -> Result<Store> {
        let store = Store::open(&self.path, self.clock.now().at)?;
        store.stay_in_epoch(self.epoch);
        Ok(store)
    }
}

/// A clock that a second thread can read too.
pub type SharedClock = Arc<dyn Clock + Send + Sync>;

/// Who calls. `entity` is the name in AEE's `from`: `agent.x` or `human.y`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub agent: Agent,
    pub entity: String,
    /// The agent's process, where the door knows it: whatever the agent holds is held by this process.
    pub holder: Option<Holder>,
}

impl Caller {
    pub fn agent(agent: Agent) -> Self {
        Self::of(&Principal::Agent(agent))
    }

    pub fn human(agent: Agent) -> Self {
        Self::of(&Principal::Person(agent))
    }

    pub fn of(principal: &Principal) -> Self {
        let agent = Agent::parse(&principal.name()).expect("BUG: the names of principals are bounded");
        Self { agent, entity: principal.entity(), holder: None }
    }

    /// The same, in this process.
    #[must_use]
    pub fn held_by(self, holder: Option<Holder>) -> Self {
        Self { holder, ..self }
    }

    pub(crate) fn claim(&self, token: i64) -> NewClaim {
        let (agent, holder) = (self.agent.clone(), self.holder.clone());
        NewClaim { agent, holder, lease: limits::CLAIM_LEASE, token }
    }
}

/// Who calls, what names mean to the caller, and what its door knows about it: one value for each call.
#[derive(Clone)]
pub struct Session {
    pub caller: Caller,
    /// Under which a retry is recognized. Verbs that only read need none.
    pub request_id: Option<RequestId>,
    pub names: Names,
    pub origin: Arc<Origin>,
}

/// The process that a call comes from. What costs something to find out is read when it is first needed.
pub struct Origin {
    /// The name of the person whose account this is.
    pub person: String,
    /// How a shell of the caller calls this program, for commands that are printed to agents.
    pub program: Fact<ProgramCommand>,
    /// The attempt that the call comes from, where an engine started the caller or one of its ancestors.
    pub attempt: Fact<Option<AttemptId>>,
    /// The environment, as far as it is stored with what the caller submits.
    pub environment: Fact<AuthorEnvironment>,
    /// The access token that the caller presents.
    pub access_token: Box<dyn Fn() -> Result<Option<String>> + Send + Sync>,
    /// What the caller can pass on to a run that it starts; `None` outside sandboxes.
    pub ceiling: Option<Ceiling>,
}

/// A value that is computed when it is first used.
pub type Fact<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// A fact that is known already.
pub fn fact<T: Send + 'static>(value: T) -> Fact<T> {
    LazyLock::new(Box::new(move || value))
}

/// A caller about which nothing is known but its name.
impl Default for Origin {
    fn default() -> Self {
        Self {
            person: "user".to_owned(),
            program: fact(ProgramCommand { call: "writ".to_owned(), name: ProgramName::Writ }),
            attempt: fact(None),
            environment: fact(AuthorEnvironment::default()),
            access_token: Box::new(|| Ok(None)),
            ceiling: None,
        }
    }
}

impl Session {
    /// A call with a caller and a request id and nothing else.
    pub fn new(caller: Caller, request_id: RequestId) -> Self {
        let (names, origin) = (Names::default(), Arc::default());
        Self { caller, request_id: Some(request_id), names, origin }
    }

    /// A call that changes nothing.
    pub fn reader() -> Self {
        let user = Agent::parse("user").expect("BUG: a fixed name");
        let (names, origin) = (Names::default(), Arc::default());
        Self { caller: Caller::human(user), request_id: None, names, origin }
    }

    /// The request id; empty without one.
    pub fn request(&self) -> &str {
        self.request_id.as_ref().map(RequestId::as_str).unwrap_or_default()
    }

    /// The same caller under another request id.
    #[must_use]
    pub fn under(&self, request_id: RequestId) -> Self {
        Self { request_id: Some(request_id), ..self.clone() }
    }
}

impl Context {
    /// Who answers for checks that the caller writes, or for work that it calls done. Every name that an executor takes is
    /// the executor: else it could write checks under one name and pass them under another.
    pub(crate) fn author(&mut self, session: &Session) -> Result<Agent> {
        let Some(attempt) = &*session.origin.attempt else { return Ok(session.caller.agent.clone()) };
        let task = self.store.read()?.task_of_attempt(attempt)?;
        // Commands of loops and workers are in no journal.
        let name = task.map_or_else(|| attempt.to_string(), |task| Principal::Executor(task).name());
        Ok(Agent::parse(&name).expect("BUG: the names of principals are bounded"))
    }

    /// Opens the store at `path`, making it on first use.
    pub fn open(path: &Path, clock: SharedClock, ids: Box<dyn Minter>, host: Rc<dyn Host>) -> Result<Self> {
        let mut store = Store::open(path, clock.now().at)?;
        // A damaged store can still be read and verified.
        if let Ok(file) = store.file() {
            host.work_for(&file);
        }
        Ok(Self { store, clock, ids, run_as_written: None, host })
    }

    /// Counts everything that this context does as one call: only events from before it confirm the time to it, and what
    /// no earlier event confirms is not deleted.
    pub fn is_one_call(&self) {
        self.store.use_witness(Witness::Whole(None));
    }

    /// The store's id and file.
    pub fn store_file(&mut self) -> Result<StoreFile> {
        Ok(self.store.file()?)
    }

    /// The machine, for verbs that look at it between their transactions. Borrows the whole context, so that it
    /// cannot be reached while a transaction is open.
    pub fn host(&self) -> Rc<dyn Host> {
        self.host.clone()
    }

    /// How many transactions are open on this store now, for a host that must not be asked while one is.
    pub fn open_transactions(&self) -> OpenTransactions {
        self.store.open_transactions()
    }

    /// Does what stays possible while writ is halted.
    pub(crate) fn while_halted<A>(&mut self, act: impl FnOnce(&mut Self) -> A) -> A {
        let before = self.store.permit_while_halted(true);
        let done = act(self);
        self.store.permit_while_halted(before);
        done
    }

    /// What a second thread needs to open the store for itself.
    pub(crate) fn place(&self) -> StoreLocation {
        StoreLocation {
            path: self.store.path().to_owned(),
            clock: self.clock.clone(),
            epoch: self.store.seen_epoch(),
        }
    }

    pub fn now(&self) -> Now {
        self.clock.now()
    }

    pub fn store_path(&self) -> &Path {
        self.store.path()
    }

    /// The schema that the store had when it was opened, and the one it has now. A new one had 0.
    pub fn schemas(&self) -> (usize, usize) {
        self.store.schemas()
    }

    /// Waits for other writers no longer than this from now on.
    pub fn wait_at_most(&self, wait: std::time::Duration) -> Result<()> {
        Ok(self.store.wait_at_most(wait)?)
    }

    pub fn ids(&mut self) -> &mut dyn Minter {
        &mut *self.ids
    }
}
