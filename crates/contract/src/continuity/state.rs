//! The agent contract's names for the states and outcomes of a task.

use crate::domain::status::Status;
use crate::domain::words::field_words;

field_words! {
    /// The state of a task, with the agent contract's four names.
    TaskState, "status" {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Blocked = "blocked",
    }
}

field_words! {
    /// Which tasks to list. The agent contract shows failed and canceled tasks as blocked; here they are distinguished.
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
