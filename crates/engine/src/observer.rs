//! What a person may want to see while a run is worked.

use std::time::Duration;

use contract::domain::money::MicroUsd;
use contract::domain::status::{Evidence, Status};

/// One thing that happened to a task, by its name in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskProgress<'t> {
    Started {
        task: &'t str,
        attempt: i64,
    },
    Update {
        task: &'t str,
        percentage: Option<u64>,
        message: &'t str,
    },
    Checking {
        task: &'t str,
        command: &'t str,
    },
    Retrying {
        task: &'t str,
        reason: &'t str,
        wait: Duration,
        /// Of all attempts so far; `None` if nothing was reported.
        cost: Option<MicroUsd>,
    },
    /// It could start, and waits for something that others have: `lock on src held by T-1 of run_…`.
    Waiting {
        task: &'t str,
        awaited: &'t str,
    },
    /// The provider of what it uses refuses work, for at least so long: `claude until 14:05:00Z (rate limit)`.
    WaitsForLimit {
        task: &'t str,
        awaited: &'t str,
        left: Duration,
    },
    Ended {
        task: &'t str,
        status: Status,
        evidence: Option<Evidence>,
        reason: Option<&'t str>,
        took: Duration,
        /// Of all attempts; `None` if nothing was reported.
        cost: Option<MicroUsd>,
    },
    /// What became of it after its engine had died, or its work could not be merged: `was interrupted, rerun`.
    Recovered {
        task: &'t str,
        told: &'t str,
    },
    /// Children are being ended.
    Stopping {
        signal: Option<i32>,
    },
    /// Another process holds the store's write lock for long. The children go on.
    StoreBusy,
    /// It got a lock that was taken from another holder: `took the lock on src from …`.
    TookOver {
        task: &'t str,
        told: &'t str,
    },
    /// Something about it that a person has to know: it is late, it is silent, an alternative is used.
    Warned {
        task: &'t str,
        told: &'t str,
    },
    /// It begins without the work of another task, which cannot be merged: ``begins without `a`: …``.
    BeginsWithout {
        task: &'t str,
        told: &'t str,
    },
    /// Another engine works the run; this one waits for its result.
    Attached {
        process: &'t str,
    },
}

pub trait Observer {
    fn report(&mut self, progress: TaskProgress<'_>);

    /// Called several times a second while nothing happens.
    fn tick(&mut self) {}
}

/// Looks at nothing.
pub struct Nobody;

impl Observer for Nobody {
    fn report(&mut self, _: TaskProgress<'_>) {}
}
