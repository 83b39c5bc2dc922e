//! What can be written to the journal of a run, and whether it was.

use contract::aee::Type;
use contract::domain::attempt::{AttemptId, AttemptOutcome, AttemptState, Dispatch, NewAttempt};
use contract::domain::pins::Digests;
use contract::domain::reason::Reason;
use contract::domain::rollback::{FileResult, Rollback};
use contract::domain::run::RunState;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use serde_json::Value;

use super::Wants;
use crate::aop_event::AopEvent;
use crate::crew::Obstacle;

/// One thing to write.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalEntry {
    /// An AEE envelope of the run: a layer's decision, a delegation, its result.
    Envelope(JournalNote),
    MoveTask {
        task_id: TaskId,
        to: Status,
        reason: Option<Reason>,
    },
    /// Grants done. With `withheld`, the reason why it is only claimed although the checks passed.
    Finish {
        task_id: TaskId,
        verified: bool,
        withheld: Option<Reason>,
    },
    /// Remembers the files that a task's checks use, before the work on it begins.
    Pin {
        task_id: TaskId,
        files: Digests,
    },
    /// With the locks, the share of the budget and the approval that go with it, or not at all.
    StartAttempt {
        attempt: NewAttempt,
        /// How the TASK differs for it, where one was submitted.
        dispatch: Option<Box<Dispatch>>,
        wants: Wants,
    },
    /// The executor of a running attempt named its conversation, with which it can go on.
    NameSession {
        attempt_id: AttemptId,
        agent_session: String,
    },
    /// Releases what the attempt held.
    EndAttempt {
        task_id: TaskId,
        attempt_id: AttemptId,
        state: AttemptState,
        outcome: Box<AttemptOutcome>,
        /// Refused unless the task still holds its locks under this number.
        token: Option<i64>,
    },
    /// A rollback of the attempt begins or has ended, with what became of each path.
    RollBack {
        task_id: TaskId,
        attempt_id: AttemptId,
        rollback: Box<Rollback>,
        files: Vec<FileResult>,
        /// It begins only while the task holds its locks under this number.
        token: Option<i64>,
    },
    /// The work of a task in a clone is about to be merged into the workspace.
    Land {
        task_id: TaskId,
        /// Refused unless the task is still in this state: one that was canceled is not merged.
        from: Status,
        /// Refused unless the task still holds its locks under this number.
        token: Option<i64>,
        note: Box<JournalNote>,
    },
    /// Locks for inspecting what an attempt left behind. Locks that the task held before are released.
    Hold {
        task_id: TaskId,
        wants: Wants,
    },
    /// The task waits for this resource, which refuses work.
    WaitForLimit {
        task_id: TaskId,
        resource: String,
    },
    /// Releases the locks of an inspection.
    LetGo {
        task_id: TaskId,
    },
    /// An AOP EVENT about a task.
    Aop {
        task_id: TaskId,
        event: Box<AopEvent>,
    },
    /// An AOP EVENT about the session of the run.
    AopOfRun {
        event: Box<AopEvent>,
    },
    MoveRun {
        to: RunState,
        result: Option<Value>,
    },
}

impl JournalEntry {
    /// Whether records of an audit trail are derived from what it writes.
    pub fn is_audited(&self) -> bool {
        match self {
            JournalEntry::StartAttempt { .. }
            | JournalEntry::EndAttempt { .. }
            | JournalEntry::RollBack { .. }
            | JournalEntry::AopOfRun { .. } => true,
            JournalEntry::Envelope(_)
            | JournalEntry::MoveTask { .. }
            | JournalEntry::Finish { .. }
            | JournalEntry::Pin { .. }
            | JournalEntry::NameSession { .. }
            | JournalEntry::Land { .. }
            | JournalEntry::Hold { .. }
            | JournalEntry::WaitForLimit { .. }
            | JournalEntry::LetGo { .. }
            | JournalEntry::Aop { .. }
            | JournalEntry::MoveRun { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct JournalNote {
    pub kind: Type,
    /// The sender if it is not the engine: the executor of a forwarded answer.
    pub from: Option<String>,
    pub to: String,
    pub intent: String,
    pub message: String,
    pub payload: Value,
    pub task_id: Option<TaskId>,
}

impl JournalNote {
    /// An event of the engine itself.
    pub fn event(intent: &str, message: &str, payload: Value, task_id: Option<&TaskId>) -> Self {
        Self {
            kind: Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: intent.to_owned(),
            message: message.to_owned(),
            payload,
            task_id: task_id.cloned(),
        }
    }
}

/// Whether the entries were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalWritten {
    /// All of them. With the number of the grant, where locks were taken.
    All { token: Option<i64> },
    /// None of them: an attempt may not begin yet, or not at all.
    Hindered(Obstacle),
    /// None of them: the task lost its locks, and another task may hold them.
    Fenced,
}
