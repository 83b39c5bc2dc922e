//! A valid plan: an objective and its tasks, whatever document it was read from.

pub mod policy;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::check::Check;
use super::checkpoint::Checkpoint;
use super::confinement::{GitUse, Namespace, NetworkUse, SandboxMode};
use super::crew::budget::Amount;
use super::executor::ExecutorName;
use super::limits;
use super::money::MicroUsd;
use super::network::HostRule;
use super::priority::Priority;
use super::scope::Scope;
use super::worktree::WorktreeSpec;
use policy::{FallbackTrigger, TaskPolicy};

/// A valid plan: every name resolves, the order has no cycle, writes do not conflict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub objective: String,
    /// The working directory of the tasks. Relative to the plan file; the caller makes it absolute.
    pub workspace: Option<String>,
    pub max_parallel: usize,
    /// What the whole run may spend.
    #[serde(default, skip_serializing_if = "Budget::is_silent")]
    pub budget: Budget,
    pub tasks: Vec<PlanTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own in a plan")]
pub struct PlanTask {
    pub id: String,
    pub title: String,
    pub executor: ExecutorName,
    /// An argument list; with `shell` its one element is a script for `sh -c`.
    pub command: Vec<String>,
    pub shell: bool,
    /// The agent's instructions.
    pub prompt: Option<String>,
    pub writes: Vec<Scope>,
    pub reads: Vec<Scope>,
    pub scratch: Vec<Scope>,
    /// Those of `writes` and `scratch` that are directories, as their author says: they are made before the task starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Box<Directories>>,
    /// Values are literal, or `env:NAME` for secrets.
    pub env: BTreeMap<String, String>,
    pub depends_on: Vec<String>,
    pub priority: Priority,
    pub timeout_ms: u64,
    /// How often a failed attempt is retried.
    pub retries: u32,
    /// The wait before each retry; the last one repeats.
    pub backoff_ms: Vec<u64>,
    /// Whether it may run again after an interruption.
    pub retry_safe: bool,
    pub budget: Budget,
    pub checks: Vec<Check>,
    /// The checkpoints that its checks belong to, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    /// Files and directories whose change by the task makes its done only claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Scope>,
    /// The task may change the files that its checks use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks_may_change: bool,
    /// Who wrote the checks: who submitted the plan. Set when it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_by: Option<String>,
    /// Whether its processes live in a pid namespace of their own.
    #[serde(default, skip_serializing_if = "Namespace::is_on")]
    pub namespace: Namespace,
    /// Whether an attempt that fails or is canceled is rolled back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback: bool,
    /// How strictly its processes are confined. The configuration may demand more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// What it may reach over the network.
    #[serde(default, skip_serializing_if = "NetworkUse::is_full")]
    pub network: NetworkUse,
    /// The hosts that it may reach where that is restricted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_allow: Vec<HostRule>,
    /// What it may do with the workspace's git repository.
    #[serde(default, skip_serializing_if = "GitUse::is_read")]
    pub git: GitUse,
    /// Whether it works in a clone of its own, and what it gets there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeSpec>,
    /// The model that its executor shall use; the executor's own default if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is tried after a failure, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// What its processes may do with the workspace, where that is less than its `writes` say.
    #[serde(default, skip_serializing_if = "FileAccess::is_open")]
    pub files: FileAccess,
    /// The paths of its document are of another machine, and were mapped to this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mapped: bool,
    /// What happens when it is silent, late, or fails.
    #[serde(default, skip_serializing_if = "TaskPolicy::is_default")]
    pub policy: TaskPolicy,
    /// The submitted AOP TASK, which is passed to the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aop: Option<serde_json::Value>,
}

/// Another executor or model for a task whose attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alternative {
    pub executor: ExecutorName,
    /// As in [`PlanTask::command`].
    pub command: Vec<String>,
    pub model: Option<String>,
    /// Which failures it is for.
    pub trigger: FallbackTrigger,
}

/// What the processes of a task may do with the files of its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileAccess {
    /// They write nothing there. Without it, a task that names no `writes` may write everywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_nothing: bool,
    /// A change outside what they may write fails the task, unless it may be another task's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_only: bool,
    /// What they can read of it, besides what they may write. `None`: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<Scope>>,
}

impl FileAccess {
    fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// What a task may spend. Absent means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    pub cost: Option<MicroUsd>,
    pub tokens: Option<i64>,
}

impl Budget {
    fn is_silent(&self) -> bool {
        self.share().is_none()
    }

    /// As the limit of a run; `None` if it has no amount. A missing amount is practically unlimited.
    pub fn limit(&self) -> Option<Amount> {
        let cost = self.cost.unwrap_or(MicroUsd(limits::AMOUNT_MAX));
        self.share().map(|_| Amount { cost, tokens: self.tokens.unwrap_or(limits::AMOUNT_MAX) })
    }

    /// The part of an amount that this budget limits: money, tokens, both or nothing.
    #[must_use]
    pub fn limited(&self, amount: Amount) -> Amount {
        Amount {
            cost: self.cost.map_or(MicroUsd(0), |_| amount.cost),
            tokens: self.tokens.map_or(0, |_| amount.tokens),
        }
    }

    /// What remains of it after an amount was used.
    #[must_use]
    pub fn without(&self, used: Amount) -> Budget {
        let left = self.share().unwrap_or_default().minus(used).at_least_nothing();
        Budget { cost: self.cost.map(|_| left.cost), tokens: self.tokens.map(|_| left.tokens) }
    }

    /// The smaller of the two, for money and tokens each on their own.
    #[must_use]
    pub fn within(&self, other: Budget) -> Budget {
        Budget {
            cost: self.cost.into_iter().chain(other.cost).min(),
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
        }
    }

    /// What has to be reserved for it; `None` if it has no amount.
    pub fn share(&self) -> Option<Amount> {
        let said = self.cost.is_some() || self.tokens.is_some();
        said.then(|| Amount { cost: self.cost.unwrap_or_default(), tokens: self.tokens.unwrap_or_default() })
    }
}

/// Scopes that are directories. Apart, because few tasks have some and every task is stored in one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Directories(pub Vec<Scope>);

impl PlanTask {
    /// A task with every default, whose command does nothing.
    pub fn minimal(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: id.to_owned(),
            executor: ExecutorName::shell(),
            command: vec!["true".to_owned()],
            shell: false,
            prompt: None,
            writes: Vec::new(),
            reads: Vec::new(),
            scratch: Vec::new(),
            directories: None,
            env: BTreeMap::new(),
            depends_on: Vec::new(),
            priority: Priority::Normal,
            timeout_ms: u64::try_from(limits::TASK_TIMEOUT_DEFAULT.as_millis())
                .expect("BUG: the default fits"),
            retries: 0,
            backoff_ms: Vec::new(),
            retry_safe: false,
            budget: Budget::default(),
            checks: Vec::new(),
            checkpoints: Vec::new(),
            pins: Vec::new(),
            checks_may_change: false,
            checks_by: None,
            namespace: Namespace::On,
            rollback: false,
            sandbox: None,
            network: NetworkUse::Full,
            network_allow: Vec::new(),
            git: GitUse::Read,
            worktree: None,
            model: None,
            alternatives: Vec::new(),
            files: FileAccess::default(),
            is_mapped: false,
            policy: TaskPolicy::default(),
            aop: None,
        }
    }

    /// The scopes that are directories, as their author says.
    pub fn directories(&self) -> &[Scope] {
        self.directories.as_ref().map_or(&[], |directories| &directories.0)
    }

    /// Whether none of its attempts uses a model, so that it spends nothing.
    pub fn is_model_free(&self) -> bool {
        let mut others = self.alternatives.iter().map(|other| &other.executor);
        self.executor.is_model_free() && others.all(ExecutorName::is_model_free)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// How long to wait before attempt `number`, counted from 1.
    pub fn backoff(&self, number: i64) -> Duration {
        let Some(last) = self.backoff_ms.last() else { return Duration::ZERO };
        let index = usize::try_from(number - 2).unwrap_or(0);
        Duration::from_millis(*self.backoff_ms.get(index).unwrap_or(last))
    }
}
