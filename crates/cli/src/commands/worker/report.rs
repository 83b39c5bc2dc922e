//! What a worker did, as it is printed.

use contract::domain::status::Evidence;
use serde::Serialize;

use crate::output::one_line;

/// Why a worker stopped taking tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// As many tasks as it was asked to take.
    Enough,
    NothingReady,
    Interrupted,
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    run_id: String,
    owner: String,
    pub(super) tasks: Vec<Worked>,
    pub(super) end: End,
}

/// One assignment, and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct Worked {
    pub(super) task_id: String,
    /// The number of the token.
    pub(super) token: i64,
    /// `done`, `blocked`, `failed`, or `lost` if another worker may have the task.
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<Evidence>,
    /// Why the task is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    pub(super) reason: String,
    pub(super) duration_ms: u64,
}

impl Report {
    pub(super) fn new(run_id: &str, owner: &str) -> Self {
        Self { run_id: run_id.to_owned(), owner: owner.to_owned(), tasks: Vec::new(), end: End::Enough }
    }

    pub(super) fn is_done(&self) -> bool {
        self.tasks.iter().all(|task| task.status == "done")
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for task in &self.tasks {
            let evidence =
                task.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
            let code = task.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
            text.push_str(&format!(
                "{:<8}  {}{evidence}{code}  {}\n",
                task.task_id,
                task.status,
                one_line(&task.reason)
            ));
        }
        match self.end {
            End::Enough => {}
            End::NothingReady => text.push_str("no task is ready\n"),
            End::Interrupted => text.push_str("interrupted\n"),
        }
        text
    }
}
