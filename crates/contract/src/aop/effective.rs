//! The effective values of a TASK after defaults and precedence.

pub mod model;
pub mod path;

use std::time::Duration;

use super::limits::INPUTS_MAX;
use super::task::{Input, Network, Task};
use crate::domain::attempt::Dispatch;
use crate::domain::limits::TASK_TIMEOUT_DEFAULT;
use crate::domain::money::MicroUsd;
use crate::domain::plan::policy::{OnFailure, OnHeartbeatFailure};
use crate::domain::priority::Priority;

/// The default waits before the first, the second and every later retry.
pub const BACKOFF_SECONDS_DEFAULT: [u64; 3] = [30, 120, 300];
pub const HEARTBEAT_SECONDS_DEFAULT: u64 = 120;
pub const MISSED_BEATS_DEFAULT: u64 = 3;
/// A `PROGRESS_UPDATE` should not come more often than this.
pub const PROGRESS_INTERVAL_MIN: Duration = Duration::from_secs(30);

const _: () = assert!(TASK_TIMEOUT_DEFAULT.as_secs() == 1800, "the contract's default timeout");

/// How long the task may run: the guard rails' value, else the execution policy's, else half an hour.
pub fn timeout(task: &Task) -> Duration {
    let guard_rails = task.guard_rails.as_ref().and_then(|guard| guard.timeout_seconds);
    let policy = task.execution_policy.as_ref().and_then(|policy| policy.timeout_seconds);
    guard_rails.or(policy).map_or(TASK_TIMEOUT_DEFAULT, Duration::from_secs)
}

/// Whether the executor is killed after its timeout. Guard rails override the policy; the default is yes.
pub fn terminates_on_timeout(task: &Task) -> bool {
    let guard_rails = task.guard_rails.as_ref().and_then(|guard| guard.auto_terminate_on_timeout);
    let policy = task.execution_policy.as_ref().and_then(|policy| policy.auto_terminate_on_timeout);
    guard_rails.or(policy).unwrap_or(true)
}

/// Whether the first critical error ends the task. Guard rails override the policy; the default is no.
pub fn aborts_on_critical_error(task: &Task) -> bool {
    let guard_rails = task.guard_rails.as_ref().and_then(|guard| guard.abort_on_first_critical_error);
    let policy = task.execution_policy.as_ref().and_then(|policy| policy.abort_on_first_critical_error);
    guard_rails.or(policy).unwrap_or(false)
}

pub fn on_failure(task: &Task) -> OnFailure {
    let policy = task.execution_policy.as_ref().and_then(|policy| policy.on_failure);
    policy.unwrap_or(OnFailure::ReportAndContinue)
}

pub fn priority(task: &Task) -> Priority {
    task.task.priority.unwrap_or_default()
}

pub fn attempt(task: &Task) -> u64 {
    task.task.attempt.unwrap_or(1)
}

/// The TASK as an attempt gets it: with its number, and with what differs from the submitted TASK.
pub fn for_attempt(task: &Task, number: i64, alternative: Option<u32>, dispatch: &Dispatch) -> Task {
    let mut task = task.clone();
    // Its author may have made attempts before this run.
    let earlier = attempt(&task).saturating_sub(1);
    task.task.attempt = u64::try_from(number).ok().map(|number| number.saturating_add(earlier));
    let listed = task.execution_policy.as_ref().map(|policy| &policy.alternative_models);
    let index = alternative.and_then(|index| usize::try_from(index).ok());
    if let Some(other) = index.zip(listed).and_then(|(index, listed)| listed.get(index)) {
        (task.target.provider, task.target.model) = (other.provider, other.model.clone());
    }
    task.task.priority = dispatch.priority.or(task.task.priority);
    if let Some(model) = &dispatch.model {
        task.target.model.clone_from(model);
    }
    if let Some(brief) = dispatch.brief.as_deref().filter(|_| task.task.inputs.len() < INPUTS_MAX) {
        task.task.inputs.push(Input::text(brief));
    }
    task
}

/// Whether the task may delegate parts of its work.
pub fn may_delegate(task: &Task) -> bool {
    task.task.constraints.as_ref().and_then(|constraints| constraints.delegation_allowed).unwrap_or(false)
}

/// Whether the target reads v2. The default is yes.
pub fn speaks_v2(task: &Task) -> bool {
    let versions = task.target.capabilities.as_ref().and_then(|can| can.aop_versions_supported.as_ref());
    versions.is_none_or(|list| list.iter().any(|version| super::header::is_v2(version)))
}

/// How often a task is tried and how long to wait in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries {
    pub max: u64,
    backoff: Vec<Duration>,
}

impl Retries {
    /// The wait before retry number `retry`, counted from 1. The last wait repeats; an empty list means no wait.
    pub fn wait(&self, retry: u64) -> Duration {
        let index = usize::try_from(retry.saturating_sub(1)).unwrap_or(usize::MAX);
        self.backoff.get(index).or(self.backoff.last()).copied().unwrap_or_default()
    }

    /// How often the task may be started, including the first time.
    pub fn attempts(&self) -> u64 {
        self.max.saturating_add(1)
    }
}

pub fn retries(task: &Task) -> Retries {
    let policy = task.execution_policy.as_ref();
    let backoff = policy.and_then(|policy| policy.retry_backoff_seconds.as_deref());
    Retries {
        max: policy.and_then(|policy| policy.max_retries).unwrap_or(0),
        backoff: backoff
            .unwrap_or(&BACKOFF_SECONDS_DEFAULT)
            .iter()
            .copied()
            .map(Duration::from_secs)
            .collect(),
    }
}

/// The heartbeat that an executor must send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveHeartbeat {
    pub interval: Duration,
    pub missed_max: u64,
    pub on_failure: OnHeartbeatFailure,
}

impl EffectiveHeartbeat {
    /// Silence longer than this is a failure.
    pub fn silence_max(&self) -> Duration {
        self.interval.saturating_mul(u32::try_from(self.missed_max).unwrap_or(u32::MAX))
    }
}

/// `None` if the TASK requires no heartbeat.
pub fn heartbeat(task: &Task) -> Option<EffectiveHeartbeat> {
    let heartbeat = task.execution_policy.as_ref()?.heartbeat.as_ref()?;
    let interval = heartbeat.interval_seconds.unwrap_or(HEARTBEAT_SECONDS_DEFAULT);
    heartbeat.enabled.unwrap_or(false).then(|| EffectiveHeartbeat {
        interval: Duration::from_secs(interval),
        missed_max: heartbeat.max_missed_beats.unwrap_or(MISSED_BEATS_DEFAULT),
        on_failure: heartbeat.on_heartbeat_failure.unwrap_or(OnHeartbeatFailure::Abort),
    })
}

/// The stricter of constraints and budgets. Absent means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EffectiveBudget {
    pub cost_max: Option<MicroUsd>,
    pub tokens_max: Option<u64>,
}

pub fn budget(task: &Task) -> EffectiveBudget {
    let constraints = task.task.constraints.as_ref();
    let budgets = task.task.budgets.as_ref();
    let costs = [constraints.and_then(|c| c.max_cost_usd), budgets.and_then(|b| b.max_cost_usd)];
    let tokens = [constraints.and_then(|c| c.max_tokens), budgets.and_then(|b| b.max_tokens)];
    EffectiveBudget {
        // A larger amount would not be exact; `intake::bounds` names the one that holds.
        cost_max: costs.into_iter().flatten().filter_map(at_most).min(),
        tokens_max: tokens.into_iter().flatten().min(),
    }
}

fn at_most(dollars: f64) -> Option<MicroUsd> {
    MicroUsd::from_dollars(dollars.min(MicroUsd::DOLLARS_MAX))
}

/// What the executor may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveAccess {
    /// Normalized absolute paths; each grants itself and everything below it.
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub network: Network,
}

/// The intersection of what the target can do and what the task allows. Without file paths, a task gets its workspace.
pub fn access(task: &Task) -> EffectiveAccess {
    let root = &task.task.environment.workspace_root;
    let has_files = task
        .target
        .capabilities
        .as_ref()
        .and_then(|capabilities| capabilities.file_system_access)
        .unwrap_or(true);
    let read_only = task.task.constraints.as_ref().and_then(|c| c.read_only_mode).unwrap_or(false);
    let workspace = vec![root.clone()];
    let (read, write) = match task.task.access.as_ref().and_then(|access| access.filesystem.as_ref()) {
        _ if !has_files => (Vec::new(), Vec::new()),
        Some(files) => (files.read_paths.clone(), files.write_paths.clone()),
        None => (workspace.clone(), workspace),
    };
    let write = if read_only { Vec::new() } else { write };
    EffectiveAccess {
        read: path::scopes(root, &read),
        write: path::scopes(root, &write),
        network: network(task),
    }
}

/// The most restrictive of the target's, the task's and the constraints' value; `None` if none is set.
fn network(task: &Task) -> Network {
    let capabilities = task.target.capabilities.as_ref();
    let target = capabilities.map(|capabilities| capabilities.network_access.unwrap_or(Network::Restricted));
    let asked = task.task.access.as_ref().and_then(|access| access.network);
    let allowed = task.task.constraints.as_ref().and_then(|constraints| constraints.network_access);
    [target, asked, allowed].into_iter().flatten().min().unwrap_or(Network::None)
}

#[cfg(test)]
mod tests;
