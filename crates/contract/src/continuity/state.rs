//! The agent contract's words for where a task is and how it ended.

use crate::domain::status::Status;
use crate::domain::words::field_words;

field_words! {
    /// Where a task is, in the agent contract's four words.
    TaskState, "status" {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Blocked = "blocked",
    }
}

field_words! {
    /// Which tasks to list. The agent contract shows failed and canceled tasks as blocked; here they can be told apart.
    StateFilter, "status" {
        Pending = "pending" | "todo",
        InProgress = "in_progress",
        Completed = "completed" | "done",
        Blocked = "blocked",
        Failed = "failed",
        Canceled = "canceled",
    }
}

field_words! {
    /// How a task was closed.
    CloseOutcome, "outcome" {
        Done = "done",
        Blocked = "blocked",
    }
}

impl TaskState {
    pub fn status(self) -> Status {
        match self {
            TaskState::Pending => Status::Todo,
            TaskState::InProgress => Status::InProgress,
            TaskState::Completed => Status::Done,
            TaskState::Blocked => Status::Blocked,
        }
    }
}

impl StateFilter {
    pub fn statuses(self) -> Vec<Status> {
        match self {
            StateFilter::Pending => vec![Status::Todo],
            StateFilter::InProgress => vec![Status::InProgress],
            StateFilter::Completed => vec![Status::Done],
            StateFilter::Blocked => vec![Status::Blocked, Status::Failed, Status::Canceled],
            StateFilter::Failed => vec![Status::Failed],
            StateFilter::Canceled => vec![Status::Canceled],
        }
    }
}

impl CloseOutcome {
    pub fn status(self) -> Status {
        match self {
            CloseOutcome::Done => Status::Done,
            CloseOutcome::Blocked => Status::Blocked,
        }
    }
}
