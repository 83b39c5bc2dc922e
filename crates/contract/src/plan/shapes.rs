//! What a plan file may contain. The published JSON Schema is printed from this.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::domain::check::Expects;
use crate::domain::confinement::{GitUse, Namespace, NetworkUse, SandboxMode};
use crate::domain::executor::{self, ExecutorName};
use crate::domain::limits;
use crate::domain::priority::Priority;
use crate::domain::worktree::Isolation;
use crate::shape::{
    Described, Map, NATURAL, NON_BLANK, Object, Shape, TEXT, Text, TextForm, UNBOUNDED, document, list, text,
    words,
};

/// The shape of a plan.
pub const PLAN: &Object = RawPlan::OBJECT;

document! {
    /// An objective and its tasks.
    #[shape(name = "plan", unknown = OnlyExtensions)]
    #[derive(Deserialize)]
    pub(crate) struct RawPlan {
        /// The objective of the run, in one sentence.
        pub(super) objective: String as text(1, 5000),
        /// The working directory of the tasks, relative to the plan file; created if missing. Default: the plan's directory.
        pub(super) workspace: Option<String> as NON_BLANK,
        /// How many tasks may run at once. Default 4.
        pub(super) max_parallel: Option<usize> as PARALLEL,
        /// The budget of the whole run. What is left of a task's own budget is reserved for each attempt of it.
        pub(super) budget: Option<RawBudget>,
        /// Whether the processes of each task live in a pid namespace of their own, for tasks that do not say it. Default on.
        pub(super) namespace: Option<Namespace>,
        /// Whether attempts that fail or are canceled are rolled back, for tasks that do not say it. Default false.
        pub(super) rollback: Option<bool>,
        /// How strictly each task is kept to what it may write and reach, for tasks that do not say it: `enforce`, `prefer` or `off`. The configuration may demand more. Default: as configured.
        pub(super) sandbox: Option<SandboxMode>,
        /// What sandboxed tasks that do not say it may reach over the network: `full`, `restricted` to `network_allow`, or `none`. Default full.
        pub(super) network: Option<NetworkUse>,
        /// The hosts that restricted tasks may reach which do not name their own, such as `example.org:443` or `*.example.org:443`.
        pub(super) network_allow: Option<Vec<String>> as HOSTS,
        /// `commit`: sandboxed tasks that do not say it may write to the workspace's `.git`, but not to its hooks and configuration. Default read.
        pub(super) git: Option<GitUse>,
        /// Where tasks work that do not say it: `none` is the workspace itself, `worktree` a clone of it for each task. Default none.
        pub(super) isolation: Option<Isolation>,
        /// Commands that prepare each clone, for tasks that do not say it.
        pub(super) setup: Option<Vec<Vec<String>>> as SETUP,
        /// How many ports each clone gets, for tasks that do not say it. Default 0.
        pub(super) ports: Option<u32> as PORTS,
        /// The tasks, each a [[task]] table.
        pub(super) task: Vec<RawTask> as list!(RawTask::SHAPE, 1, limits::PLAN_TASKS_MAX),
    }
}

document! {
    /// One unit of work for one child process.
    #[shape(name = "task", unknown = OnlyExtensions)]
    #[derive(Deserialize)]
    pub(crate) struct RawTask {
        /// The id of the task in this plan.
        pub(super) id: String as NAME,
        /// A title of one line. Default: the id.
        pub(super) title: Option<String> as text(1, limits::TITLE_CHARS_MAX),
        /// The name of the executor: `shell` runs the command; `aop-stdio` runs it with an AOP TASK on standard input; agent programs such as `claude` and the executors of the configuration get the prompt (`writ executors list`). Default `shell`.
        pub(super) executor: Option<ExecutorName>,
        /// The program and its arguments; with `shell = true` one line for `sh -c`. Only for executors without a program of their own.
        pub(super) command: Option<Command>,
        /// Run the command with `sh -c`. Default false.
        #[serde(default)]
        pub(super) shell: bool,
        /// The instructions for an agent. Required for every executor but `shell`.
        pub(super) prompt: Option<String> as text(1, 50_000),
        /// The model that the executor shall use. Default: as configured, or the program's own.
        pub(super) model: Option<String> as text(1, 200),
        /// Paths it may change. Tasks whose writes overlap need an order. Changes elsewhere make done only claimed.
        #[serde(default)]
        pub(super) writes: Vec<String> as SCOPES,
        /// Paths it reads.
        #[serde(default)]
        pub(super) reads: Vec<String> as SCOPES,
        /// Paths for temporary files. Changes there never count.
        #[serde(default)]
        pub(super) scratch: Vec<String> as SCOPES,
        /// Environment variables; `env:NAME` takes a value from writ's own environment.
        #[serde(default)]
        pub(super) env: BTreeMap<String, String> as ENV,
        /// Ids of tasks that must be done first.
        #[serde(default)]
        pub(super) depends_on: Vec<String> as list!(NON_BLANK, 0, limits::PLAN_TASKS_MAX),
        /// Ready tasks with a higher priority start first. Default normal.
        #[serde(default)]
        pub(super) priority: Priority,
        /// How long one attempt may take: seconds, or text such as `90s`, `5m`, `2h`. Default 30m.
        pub(super) timeout: Option<Length>,
        /// How often a failed attempt is retried. Default 0.
        #[serde(default)]
        pub(super) retries: u32 as RETRIES,
        /// The wait before each retry; the last one repeats.
        #[serde(default)]
        pub(super) backoff: Vec<Length> as list!(Length::SHAPE, 0, 20),
        /// Whether the task may run again after an interruption. Default false.
        #[serde(default)]
        pub(super) retry_safe: bool,
        /// The budget of the task, for all attempts together.
        pub(super) budget: Option<RawBudget>,
        /// What is tried after a failure, in order, each a [[task.alternatives]] table.
        #[serde(default)]
        pub(super) alternatives: Vec<RawAlternative> as list!(RawAlternative::SHAPE, 0, limits::ALTERNATIVES_MAX),
        /// How long its processes may print nothing, in seconds or as text such as `90s`. Default: no limit.
        pub(super) heartbeat: Option<Length>,
        /// What happens when they print nothing for longer: `abort`, `warn`, or only `record`. Default abort.
        pub(super) on_silence: Option<OnSilence>,
        /// `abort`: when the task has finally failed, all other tasks of the run are canceled. Default continue.
        pub(super) on_failure: Option<AfterFailure>,
        /// `off`: its processes do not live in a pid namespace of their own, so that sudo and rootless containers work. Default: as the plan says.
        pub(super) namespace: Option<Namespace>,
        /// Whether what the task changed in `writes` is taken back when an attempt fails or is canceled. Default: as the plan says.
        pub(super) rollback: Option<bool>,
        /// `enforce`: its processes can write only what it may write, or it is refused; `prefer`: as far as the system can; `off`. Default: as the plan says.
        pub(super) sandbox: Option<SandboxMode>,
        /// `none`: in a sandbox, its processes reach no network; `restricted`: only `network_allow`, through a proxy. Default: as the plan says.
        pub(super) network: Option<NetworkUse>,
        /// The hosts that it may reach where its network is `restricted`, such as `example.org:443` or `*.example.org:443`. Default: as the plan says.
        pub(super) network_allow: Option<Vec<String>> as HOSTS,
        /// `commit`: in a sandbox, it may write to the workspace's `.git`, but not to hooks and configuration. Default: as the plan says.
        pub(super) git: Option<GitUse>,
        /// `worktree`: it works in a clone of the workspace's git repository, and its work is merged when it is done. Default: as the plan says.
        pub(super) isolation: Option<Isolation>,
        /// Commands that prepare its clone before the first attempt, each a list of a program and its arguments. Default: as the plan says.
        pub(super) setup: Option<Vec<Vec<String>>> as SETUP,
        /// How many ports are reserved for its clone: WRIT_PORT_FIRST to WRIT_PORT_LAST. Default: as the plan says.
        pub(super) ports: Option<u32> as PORTS,
        /// The checks that writ runs before the task is done, each a [[task.checks]] table.
        #[serde(default)]
        pub(super) checks: Vec<RawCheck> as list!(RawCheck::SHAPE, 0, limits::CHECKS_PER_TASK_MAX),
        /// Files and directories that the checks rest on, besides the files they name. If the task changes one, its done is only claimed.
        #[serde(default)]
        pub(super) pins: Vec<String> as SCOPES,
        /// The task may change the files that its checks name and `pins`. Default false.
        #[serde(default)]
        pub(super) checks_may_change: bool,
    }
}

document! {
    /// Another executor, command or model for a task that failed.
    #[shape(name = "alternative", unknown = OnlyExtensions)]
    #[derive(Deserialize)]
    pub(crate) struct RawAlternative {
        /// The name of the executor. Default: as the task's.
        pub(super) executor: Option<ExecutorName>,
        /// As the task's command. Default: the same.
        pub(super) command: Option<Command>,
        /// The model that the executor shall use. Default: its own.
        pub(super) model: Option<String> as NON_BLANK,
        /// Which failures it is for: `timeout`, `first_error` (without retries), `critical_error`, `all_errors`, or `cost_limit`. Default all_errors.
        pub(super) on: Option<FailureKind>,
    }
}

words! {
    /// Which failures an alternative is for.
    FailureKind {
        Timeout = "timeout",
        FirstError = "first_error",
        CriticalError = "critical_error",
        AllErrors = "all_errors",
        CostLimit = "cost_limit",
    }
}

words! {
    /// What happens to a task that is silent for too long.
    OnSilence { Abort = "abort", Warn = "warn", Record = "record" }
}

words! {
    /// What the failure of a task means for the others.
    AfterFailure { Continue = "continue", Abort = "abort" }
}

document! {
    /// Spending limits.
    #[shape(name = "budget", unknown = OnlyExtensions)]
    #[derive(Deserialize)]
    pub(crate) struct RawBudget {
        /// In US dollars.
        pub(super) max_cost_usd: Option<f64>,
        /// Input and output together.
        pub(super) max_tokens: Option<i64> as NATURAL,
    }
}

document! {
    /// A command whose outcome decides whether the task is done.
    #[shape(name = "check", unknown = OnlyExtensions)]
    #[derive(Deserialize)]
    pub(crate) struct RawCheck {
        /// The program and its arguments; for FILE_EXISTS the path.
        pub(super) command: Command,
        /// EXIT_CODE_0; MATCH_FOUND: exit 0 and some output; NO_MATCH: exit 1 and none; FILE_EXISTS. Default EXIT_CODE_0.
        #[serde(default)]
        pub(super) expects: Expects,
        /// Run the command with `sh -c`. Default false.
        #[serde(default)]
        pub(super) shell: bool,
    }
}

/// A command: a list of arguments, or one text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Command {
    Arguments(Vec<String>),
    Line(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Length {
    Seconds(u64),
    Text(String),
}

impl Described for Command {
    const SHAPE: Shape = Shape::Either(&[list!(TEXT, 1, 1000), NON_BLANK]);
}

impl Described for Length {
    const SHAPE: Shape = Shape::Either(&[
        Shape::Integer { min: 1, max: limits::TASK_TIMEOUT_MAX.as_secs().cast_signed() },
        Shape::Text(Text { min: 1, max: 40, form: Some(&DURATION_FORM) }),
    ]);
}

impl Described for ExecutorName {
    const SHAPE: Shape =
        Shape::Text(Text { min: 1, max: executor::NAME_CHARS_MAX, form: Some(&executor::FORM) });
}

const NAME: Shape = Shape::Text(Text { min: 1, max: 64, form: Some(&TASK_ID) });
const PARALLEL: Shape = Shape::Integer { min: 1, max: limits::PARALLEL_MAX.cast_signed() as i64 };
const RETRIES: Shape = Shape::Integer { min: 0, max: limits::RETRIES_MAX as i64 };
const SCOPES: Shape = list!(NON_BLANK, 0, limits::SCOPES_PER_TASK_MAX);
const HOSTS: Shape = list!(NON_BLANK, 0, limits::NETWORK_ALLOW_MAX);
const SETUP: Shape = list!(list!(TEXT, 1, 1000), 0, limits::SETUP_COMMANDS_MAX);
const PORTS: Shape = Shape::Integer { min: 0, max: limits::WORKTREE_PORTS_MAX as i64 };
const ENV: Shape =
    Shape::Map(&Map { value: TEXT, key: Text { min: 1, max: UNBOUNDED, form: Some(&ENV_NAME) } });

static TASK_ID: TextForm = TextForm {
    name: "a name of letters, digits, `-`, `_` and `.`, starting with a letter or digit",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
    accepts: |text| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    },
};

static ENV_NAME: TextForm = TextForm {
    name: "a variable name of letters, digits and `_`, not starting with `WRIT_`",
    pattern: "^(?!WRIT_)[A-Za-z_][A-Za-z0-9_]*$",
    accepts: |text| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.starts_with("WRIT_")
    },
};

static DURATION_FORM: TextForm = TextForm {
    name: "a duration such as `90s`, `5m` or `1h30m`, up to 7 days",
    pattern: "^([0-9]+|([0-9]+(ms|s|m|h|d|w))+)$",
    accepts: |text| {
        crate::domain::time::parse_duration(text)
            .is_some_and(|length| !length.is_zero() && length <= limits::TASK_TIMEOUT_MAX)
    },
};
