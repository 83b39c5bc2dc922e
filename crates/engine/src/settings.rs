//! What an engine needs from its host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use contract::domain::confinement::Ceiling;
use contract::domain::limits;
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
    pub archive: EngineArchive,
    /// The index of workspaces.
    pub index: Index,
    pub policy: Policy,
    /// Where the audit files of AOP sessions are.
    pub audit: AuditFiles,
    pub models: ModelSettings,
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
    pub waits: WaitLimits,
}

/// What an engine keeps of attempts.
pub struct EngineArchive {
    /// Where their output is kept.
    pub logs: PathBuf,
    /// What the scopes of tasks were before and after them.
    pub snapshots: Snapshots,
    /// The clones in which tasks work.
    pub worktrees: Worktrees,
}

/// What is configured about models.
#[derive(Default)]
pub struct ModelSettings {
    /// What they cost.
    pub prices: Prices,
    /// Those for escalated tasks.
    pub upgrades: Upgrades,
}

/// How long tasks wait for what others have.
pub struct WaitLimits {
    /// For locks of others, before a task is blocked.
    pub locks: Duration,
    /// For the reset time of a provider, before a task fails.
    pub provider: Duration,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self { locks: limits::LOCK_WAIT_DEFAULT, provider: limits::LIMIT_WAIT_DEFAULT }
    }
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
