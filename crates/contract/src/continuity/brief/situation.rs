//! What a brief is built from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::continuity::{ArtifactView, EventView};
use crate::domain::attempt::Attempt;
use crate::domain::check::{CheckSeen, first_failed};
use crate::domain::memory::Memory;
use crate::domain::status::Status;
use crate::domain::task::Task;
use crate::domain::time::Timestamp;

/// Everything the brief is built from. The lists are ordered by importance.
#[derive(Debug, Clone)]
pub struct Situation<'s> {
    pub program: &'s ProgramCommand,
    pub agent: &'s str,
    pub as_of: Timestamp,
    pub project_id: Option<&'s str>,
    /// The project; `None` if no agent has worked there.
    pub project: Option<ProjectView>,
    pub task: Option<&'s Task>,
    /// Dependencies of the task that are not done.
    pub waits_for: Vec<TaskLine>,
    pub memories: Vec<Memory>,
    /// What happened in the task; without a task, in the project.
    pub history: History,
    pub artifacts: Vec<ArtifactView>,
    /// The last check of the task that failed.
    pub failed_check: Option<FailedCheck>,
    pub counts: TaskCounts,
    /// Tasks that can be started next.
    pub pipeline: Vec<TaskLine>,
    /// Tasks that wait for this one.
    pub unlocks: Vec<TaskLine>,
    /// Tasks of the project that were done last.
    pub finished: Vec<TaskLine>,
    /// Tasks that other agents hold.
    pub held: Vec<HeldTask>,
}

/// How the agent's shell calls this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCommand {
    /// What printed commands begin with, as a shell reads it.
    pub call: String,
    pub name: ProgramName,
}

/// The name under which this program was called. It decides which commands are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramName {
    Writ,
    /// The agent contract's reference: it always prints JSON, and its prompt has five commands.
    Vybe,
}

/// Events without bookkeeping, each list newest first.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Progress, decisions, reasoning, results and everything else that an agent recorded.
    pub said: Vec<EventView>,
    pub failures: Vec<EventView>,
    pub successes: Vec<EventView>,
    pub last_words: Vec<EventView>,
    pub checkpoints: Vec<EventView>,
    pub todos: Vec<EventView>,
    /// What users asked for in the project.
    pub prompts: Vec<EventView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    pub id: String,
    pub name: String,
    pub metadata: String,
    pub created_at: String,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLine {
    pub id: String,
    pub title: String,
    pub priority: i64,
}

impl From<&Task> for TaskLine {
    fn from(task: &Task) -> Self {
        TaskLine { id: task.id.to_string(), title: task.title.clone(), priority: task.priority }
    }
}

/// A task that another agent holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldTask {
    pub id: String,
    pub title: String,
    pub status: String,
    pub agent: String,
    /// The agent's program, if its process is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether the agent's process is known to be alive. If it is not known, only the lease tells.
    pub is_alive: bool,
    pub since: Timestamp,
    /// When the claim ends unless its holder renews it.
    pub until: Timestamp,
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCheck {
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The last lines of its output.
    pub output: Vec<String>,
}

impl FailedCheck {
    pub fn of(check: &CheckSeen) -> Self {
        FailedCheck {
            command: check.command.join(" "),
            exit_code: check.exit_code,
            problem: check.problem.clone(),
            output: check.last_lines().into_iter().map(str::to_owned).collect(),
        }
    }

    /// The check that failed in the newest attempt that ended, if one did.
    pub fn last(attempts: &[Attempt]) -> Option<Self> {
        let newest = attempts.iter().rev().find_map(|attempt| attempt.outcome.as_ref())?;
        first_failed(&newest.checks).map(Self::of)
    }

    /// `cargo test: exit 1`
    pub fn summary(&self) -> String {
        match (self.exit_code, &self.problem) {
            (Some(code), _) => format!("{}: exit {code}", self.command),
            (None, Some(problem)) => format!("{}: {problem}", self.command),
            (None, None) => format!("{}: did not exit by itself", self.command),
        }
    }
}

/// How many tasks there are, in the agent contract's states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCounts {
    pub pending: i64,
    pub in_progress: i64,
    pub completed: i64,
    pub blocked: i64,
}

impl TaskCounts {
    pub fn add(&mut self, status: Status, tasks: i64) {
        match status {
            Status::Todo => self.pending += tasks,
            Status::InProgress => self.in_progress += tasks,
            Status::Done => self.completed += tasks,
            Status::Blocked | Status::Failed | Status::Canceled => self.blocked += tasks,
        }
    }
}
