//! The contradictions that a ledger can have, and how to resolve each.

use serde::{Serialize, Serializer};

use crate::operator::codes::Code;

macro_rules! issues {
    ($($variant:ident, $id:literal, $code:ident, $action:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum IssueRule { $($variant),* }

        impl IssueRule {
            pub const ALL: &'static [IssueRule] = &[$(IssueRule::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(IssueRule::$variant => $id),* }
            }

            /// What kind of fault it is. The verdict's own code is always `LEDGER_INCONSISTENT`.
            pub fn code(self) -> Code {
                match self { $(IssueRule::$variant => Code::$code),* }
            }

            /// How to resolve it. Repairs are separate deltas, after which the ledger is reconciled again.
            pub fn action(self) -> &'static str {
                match self { $(IssueRule::$variant => $action),* }
            }
        }
    };
}

issues! {
    UnreadableRow, "RC-01", SchemaInvalid, "correct the row";
    DuplicateTask, "RC-02", LedgerInconsistent, "keep one row";
    UnreadableState, "RC-03", SchemaInvalid, "correct the row";
    NoOwner, "RC-04", LedgerInconsistent, "block the task";
    UnknownDependency, "RC-05", LedgerInconsistent, "block the task";
    DependencyNotDone, "RC-06", DependencyNotMet, "block a task in progress; a task that is done needs a person";
    DependencyLost, "RC-07", DependencyNotMet, "block the task and those that depend on it";
    LockOfFinishedTask, "RC-08", LedgerInconsistent, "release the lock";
    LockOfUnknownTask, "RC-09", LedgerInconsistent, "release the lock";
    EventOfUnknownTask, "RC-10", LedgerInconsistent, "find the source of the event";
    NoLock, "RC-11", LockConflict, "block the task";
    NoHeartbeat, "RC-12", SchemaInvalid, "set the heartbeat when the task is assigned";
    HeartbeatInFuture, "RC-13", SchemaInvalid, "check the clocks";
    HeartbeatTooOld, "RC-14", TaskTimeout, "block the task, release its locks, plan it again";
    TimedOutInProgress, "RC-15", LedgerInconsistent, "block the task";
    BlockedWithoutBlocker, "RC-16", LedgerInconsistent, "name its blocker";
    DoneWithoutResult, "RC-17", AcceptanceFailed, "verify it in a new task";
    DependencyCycle, "RC-18", LedgerInconsistent, "a person has to break the cycle";
    LocksOverlap, "RC-19", LockConflict, "release the newer of the two locks";
}

/// One contradiction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Issue {
    pub rule: IssueRule,
    pub code: Code,
    /// Empty if a row has no id.
    pub task_id: String,
    /// Where in the document.
    pub path: String,
    pub message: String,
    pub action: &'static str,
}

impl Issue {
    pub(super) fn new(rule: IssueRule, task_id: &str, path: &str, message: String) -> Self {
        let (task_id, path) = (task_id.to_owned(), path.to_owned());
        Self { rule, code: rule.code(), task_id, path, message, action: rule.action() }
    }
}

impl Serialize for IssueRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
