//! What `done` stands on if no worker submitted a result: a delta's own evidence, and the checks that writ ran.

use std::fmt;

use crate::domain::check::CheckSeen;
use crate::domain::crew::row::{Accepted, CrewRow, CriterionStatus};
use crate::operator::Code;
use crate::operator::delta::Delta;

/// What is known when a delta says that a task is done.
#[derive(Debug, Clone, Copy)]
pub struct DoneEvidence<'a> {
    /// Who sent the delta.
    pub by: &'a str,
    /// The author's checks, as writ just saw them.
    pub checks: &'a [CheckSeen],
    /// Criteria that are the author's checks, and so are met once these have passed.
    pub checked: &'a [String],
}

/// Why a delta does not make a task done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAccepted {
    CheckFailed(String),
    CriterionFailed(String),
    NoEvidence(String),
    CriterionMissing(String),
    NoReason,
}

impl NotAccepted {
    pub fn rule(&self) -> &'static str {
        match self {
            NotAccepted::CheckFailed(_) | NotAccepted::CriterionFailed(_) => "criterion_failed",
            NotAccepted::NoEvidence(_) | NotAccepted::NoReason => "no_evidence",
            NotAccepted::CriterionMissing(_) => "criterion_missing",
        }
    }

    pub fn code(&self) -> Code {
        Code::AcceptanceFailed
    }
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAccepted::CheckFailed(command) => write!(f, "the check `{command}` did not pass"),
            NotAccepted::CriterionFailed(criterion) => write!(f, "criterion `{criterion}` failed"),
            NotAccepted::NoEvidence(criterion) => write!(f, "criterion `{criterion}` has no evidence"),
            NotAccepted::CriterionMissing(criterion) => {
                write!(f, "nothing shows that criterion `{criterion}` is met")
            }
            NotAccepted::NoReason => f.write_str("it gives no reason"),
        }
    }
}

impl Delta {
    /// Decides whether this delta makes the task of `row` done, by the rule that results are held to: every check of the author
    /// passed, and every criterion is met, with evidence.
    pub fn accept(&self, row: &CrewRow, evidence: DoneEvidence<'_>) -> Result<Accepted, NotAccepted> {
        if let Some(failed) = evidence.checks.iter().find(|check| !check.passed) {
            return Err(NotAccepted::CheckFailed(failed.command.join(" ")));
        }
        let shown = self.x_acceptance_check.clone().unwrap_or_default();
        for check in &shown {
            if check.status == CriterionStatus::Fail {
                return Err(NotAccepted::CriterionFailed(check.criterion.clone()));
            }
            if check.evidence.trim().is_empty() {
                return Err(NotAccepted::NoEvidence(check.criterion.clone()));
            }
        }
        let is_checked = |criterion: &str| {
            !evidence.checks.is_empty() && evidence.checked.iter().any(|checked| checked.trim() == criterion)
        };
        let is_shown = |criterion: &str| shown.iter().any(|check| check.criterion.trim() == criterion);
        let wanted = row.columns.acceptance_criteria.iter().flatten().map(|criterion| criterion.trim());
        if let Some(missing) =
            wanted.into_iter().find(|criterion| !is_checked(criterion) && !is_shown(criterion))
        {
            return Err(NotAccepted::CriterionMissing(missing.to_owned()));
        }
        if self.reason.trim().is_empty() {
            return Err(NotAccepted::NoReason);
        }
        Ok(Accepted {
            by: evidence.by.to_owned(),
            reason: self.reason.clone(),
            acceptance_check: shown,
            checks: evidence.checks.to_vec(),
        })
    }
}
