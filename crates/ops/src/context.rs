//! What every operation needs: the store, the clock, fresh ids, and who asks.

use std::path::Path;

use contract::domain::id::Minter;
use contract::domain::request::{Agent, RequestId};
use contract::domain::time::{Clock, Now};
use store::Store;

use crate::error::Result;

pub struct Context {
    pub(crate) store: Store,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) ids: Box<dyn Minter>,
}

/// Who asks. `entity` is the name in AEE's `from`: `agent.x` or `human.y`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub agent: Agent,
    pub entity: String,
}

impl Caller {
    pub fn agent(agent: Agent) -> Self {
        let entity = format!("agent.{}", agent.as_str());
        Self { agent, entity }
    }

    pub fn human(agent: Agent) -> Self {
        let entity = format!("human.{}", agent.as_str());
        Self { agent, entity }
    }
}

/// Who asks, and under which key a retry is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub caller: Caller,
    pub request_id: RequestId,
}

impl Context {
    /// Opens the store at `path`, making it on first use.
    pub fn open(path: &Path, clock: Box<dyn Clock>, ids: Box<dyn Minter>) -> Result<Self> {
        let store = Store::open(path, clock.now().at)?;
        Ok(Self { store, clock, ids })
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
