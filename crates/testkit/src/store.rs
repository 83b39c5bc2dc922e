//! A store of its own for each test, and events to put into it.

use std::path::PathBuf;

use contract::domain::id::mint;
use contract::domain::time::{Clock, Now};
use store::{NewEvent, Store};

use crate::{ManualClock, Scratch, SeededIds};

/// A place for one store, with time that stands still. Everything in it is gone after the test.
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

    /// Where the store is. Nothing is there before it is opened.
    pub fn path(&self) -> PathBuf {
        self.scratch.join("writ.db")
    }

    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    pub fn now(&self) -> Now {
        self.clock.now()
    }

    /// Opens the store, making it at the first call. Each call is one more user of the same file.
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

/// An event that says `message` and nothing else.
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
