//! What a worker did, as it is printed.

use contract::domain::status::Evidence;
use serde::Serialize;

/// Why a worker stopped taking tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerEnd {
    /// As many tasks as it was asked to take.
    Enough,
    NothingReady,
    Interrupted,
}

#[derive(Debug, Serialize)]
pub struct WorkerReport {
    run_id: String,
    owner: String,
    pub tasks: Vec<WorkedTask>,
    pub end: WorkerEnd,
}

/// One assignment, and what became of it.
#[derive(Debug, Serialize)]
pub struct WorkedTask {
    pub task_id: String,
    /// The number of the token.
    pub token: i64,
    /// `done`, `blocked`, `failed`, or `lost` if another worker may have the task.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Why the task is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub reason: String,
    pub duration_ms: u64,
}

impl WorkerReport {
    pub(super) fn new(run_id: &str, owner: &str) -> Self {
        Self { run_id: run_id.to_owned(), owner: owner.to_owned(), tasks: Vec::new(), end: WorkerEnd::Enough }
    }

    pub fn is_done(&self) -> bool {
        self.tasks.iter().all(|task| task.status == "done")
    }
}
