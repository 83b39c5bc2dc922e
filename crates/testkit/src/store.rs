//! A temporary store for each test, and events to put into it.

use std::path::PathBuf;

use contract::domain::id::mint;
use contract::domain::time::{Clock, Now};
use store::{NewEvent, Store};

use crate::{ManualClock, Scratch, SeededIds};

/// A temporary directory for one store, with a manual clock. It is removed after the test.
#[derive(Debug)]
pub struct TempStore {
    scratch: Scratch,
    clock: ManualClock,
}

impl TempStore {
    pub fn new() -> Self {
        Self { scratch: Scratch::new(), clock: ManualClock::new() }
    }

    /// The directory the store is in.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The path of the store. The file does not exist before the store is opened.
    pub fn path(&self) -> PathBuf {
        self.scratch.join("writ.db")
    }

    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    pub fn now(&self) -> Now {
        self.clock.now()
    }

    /// Opens the store; the first call creates it. Each call opens another connection to the same file.
    #[track_caller]
    pub fn open(&self) -> Store {
        let opened = Store::open(&self.path(), self.now().at);
        opened.unwrap_or_else(|error| panic!("could not open the store of this test: {error:?}"))
    }
}

impl Default for TempStore {
    fn default() -> Self {
        Self::new()
    }
}

/// An event with only a message.
pub fn event(ids: &mut SeededIds, now: &Now, message: &str) -> NewEvent {
    NewEvent {
        event_id: mint(ids, now.at),
        at: now.at,
        r#type: "event",
        from: "agent.test".to_owned(),
        to: "log.writ".to_owned(),
        intent: "writ.note".to_owned(),
        corr: "corr-test".to_owned(),
        reply_to: None,
        priority: "normal",
        requires: None,
        payload: serde_json::Value::Null,
        kind: "note".to_owned(),
        agent: "test".to_owned(),
        project_id: None,
        task_id: None,
        run_id: None,
        message: message.to_owned(),
    }
}
