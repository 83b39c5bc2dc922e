//! The state table of tasks, and each contract's names for the states.

use crate::shape::words;

words! {
    #[derive(Hash, Default)]
    Status {
        #[default]
        Todo = "todo",
        InProgress = "in_progress",
        Blocked = "blocked",
        Done = "done",
        Failed = "failed",
        Canceled = "canceled",
    }
}

words! {
    /// The evidence for a `done`.
    Evidence {
        /// writ ran the checks itself.
        Verified = "verified",
        /// An agent or a person reported it; the task has no checks.
        Claimed = "claimed",
        /// writ ran the checks itself, but the agent that completed the task wrote them.
        SelfChecked = "self-checked",
    }
}

impl Evidence {
    /// Whether writ ran the checks itself.
    pub fn is_checked(self) -> bool {
        match self {
            Evidence::Verified | Evidence::SelfChecked => true,
            Evidence::Claimed => false,
        }
    }
}

impl Status {
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Done | Status::Failed | Status::Canceled)
    }

    /// The operator contract's transitions. A non-terminal state may be asserted again (a field update); a
    /// terminal one only as a replay of itself.
    pub fn may_become(self, next: Status) -> bool {
        use Status::{Blocked, Canceled, Done, Failed, InProgress, Todo};
        match (self, next) {
            (Todo, Todo | InProgress | Blocked | Failed | Canceled) => true,
            (InProgress, InProgress | Done | Blocked | Failed | Canceled) => true,
            (Blocked, Blocked | Todo | InProgress | Failed | Canceled) => true,
            (Done, Done) | (Failed, Failed) | (Canceled, Canceled) => true,
            (Todo | Blocked, Done) | (InProgress, Todo) => false,
            (Done | Failed | Canceled, _) => false,
        }
    }

    /// The agent contract's name. It has four; failed and canceled are distinguished by the blocked reason.
    pub fn continuity(self) -> &'static str {
        match self {
            Status::Todo => "pending",
            Status::InProgress => "in_progress",
            Status::Done => "completed",
            Status::Blocked | Status::Failed | Status::Canceled => "blocked",
        }
    }

    pub fn from_continuity(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Status::Todo),
            "in_progress" => Some(Status::InProgress),
            "completed" => Some(Status::Done),
            "blocked" => Some(Status::Blocked),
            _ => None,
        }
    }

    /// AOP's name. A task canceled because a dependency failed is SKIPPED in AOP; the caller knows which it is.
    pub fn aop(self, skipped: bool) -> &'static str {
        match self {
            Status::Todo | Status::Blocked => "PENDING",
            Status::InProgress => "IN_PROGRESS",
            Status::Done => "COMPLETED",
            Status::Failed => "FAILED",
            Status::Canceled if skipped => "SKIPPED",
            Status::Canceled => "ABORTED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_table_is_the_operator_contracts() {
        let table: Vec<String> = Status::ALL
            .iter()
            .map(|from| {
                let to: Vec<&str> =
                    Status::ALL.iter().filter(|to| from.may_become(**to)).map(|to| to.as_str()).collect();
                format!("{from} -> {}", to.join(" "))
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        todo -> todo in_progress blocked failed canceled
        in_progress -> in_progress blocked done failed canceled
        blocked -> todo in_progress blocked failed canceled
        done -> done
        failed -> failed
        canceled -> canceled
        ");
    }

    #[test]
    fn words_survive_their_own_contract() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(*status));
        }
        for word in ["pending", "in_progress", "completed", "blocked"] {
            assert_eq!(Status::from_continuity(word).map(Status::continuity), Some(word));
        }
    }
}
