//! What an engine needs from its host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use contract::domain::confinement::Ceiling;
use contract::domain::policy::Policy;
use contract::domain::price::Prices;
use contract::intake::AuditFiles;
use contract::plan::upgrade::Upgrades;

use crate::executor::Executors;
use crate::index::Index;
use crate::inside::TaskDoors;
use crate::launcher::Launcher;
use crate::sandbox::SandboxSettings;
use crate::snapshots::Snapshots;
use crate::worktree::Worktrees;

pub struct Settings {
    /// Starts children.
    pub launcher: Arc<dyn Launcher>,
    pub executors: Executors,
    /// Where the output of attempts is kept.
    pub logs: PathBuf,
    /// The index of workspaces.
    pub index: Index,
    /// What the scopes of tasks were before and after them.
    pub snapshots: Snapshots,
    /// The clones in which tasks work.
    pub worktrees: Worktrees,
    pub policy: Policy,
    /// Where the audit files of AOP sessions are.
    pub audit: AuditFiles,
    /// What models cost.
    pub prices: Prices,
    /// Models for escalated tasks.
    pub upgrades: Upgrades,
    /// What is needed to confine children.
    pub sandbox: SandboxSettings,
    /// What tasks can be given at most; `None` if the run was not started from inside a sandbox.
    pub ceiling: Option<Ceiling>,
    /// Answers the programs of sandboxed tasks. Without it they cannot call writ.
    pub doors: Option<Arc<dyn TaskDoors>>,
    /// What every child inherits.
    pub environment: BTreeMap<OsString, OsString>,
    pub stop: StopSignal,
    /// Run interrupted tasks again even if the plan does not say that this is safe: a person decided it.
    pub rerun_parked: bool,
    /// How long a task waits for locks of others before it is blocked.
    pub lock_wait: Duration,
    /// How long a task waits for a reset time of its provider before it fails.
    pub limit_wait: Duration,
}

/// Set by a signal handler, read by the engine.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    signal: Arc<AtomicI32>,
    times: Arc<AtomicU32>,
}

impl StopSignal {
    pub fn raise(&self, signal: i32) {
        self.signal.store(signal, Ordering::SeqCst);
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    /// The last signal, if there was one.
    pub fn raised(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// Whether it was raised more than once: children are then killed without their grace.
    pub fn insists(&self) -> bool {
        self.times.load(Ordering::SeqCst) > 1
    }
}
