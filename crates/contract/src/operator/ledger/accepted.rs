//! What `done` stands on if no worker submitted a result: a delta's own evidence, and the checks that writ ran.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Row;
use crate::domain::check::CheckSeen;
use crate::operator::Code;
use crate::operator::delta::Delta;
use crate::operator::result::{CriterionCheck, CriterionStatus};
use crate::shape::{NON_BLANK, Shape, document, list};

document! {
    /// Why a task is done, if no worker submitted a result.
    #[shape(name = "operator_accepted", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Accepted {
        /// Who said that it is done.
        pub by: String as NON_BLANK,
        /// Why.
        pub reason: String as NON_BLANK,
        /// How each criterion was met.
        #[optional]
        pub acceptance_check: Vec<CriterionCheck>,
        /// The author's checks, as writ saw them pass.
        #[serde(default)]
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub checks: Vec<CheckSeen> as list!(Shape::AnyObject),
    }
}

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

impl Row {
    /// Decides whether a delta makes the task done, by the rule that results are held to: every check of the author
    /// passed, and every criterion is met, with evidence.
    pub fn accept(&self, delta: &Delta, evidence: DoneEvidence<'_>) -> Result<Accepted, NotAccepted> {
        if let Some(failed) = evidence.checks.iter().find(|check| !check.passed) {
            return Err(NotAccepted::CheckFailed(failed.command.join(" ")));
        }
        let shown = delta.x_acceptance_check.clone().unwrap_or_default();
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
        let wanted = self.columns.acceptance_criteria.iter().flatten().map(|criterion| criterion.trim());
        if let Some(missing) =
            wanted.into_iter().find(|criterion| !is_checked(criterion) && !is_shown(criterion))
        {
            return Err(NotAccepted::CriterionMissing(missing.to_owned()));
        }
        if delta.reason.trim().is_empty() {
            return Err(NotAccepted::NoReason);
        }
        Ok(Accepted {
            by: evidence.by.to_owned(),
            reason: delta.reason.clone(),
            acceptance_check: shown,
            checks: evidence.checks.to_vec(),
        })
    }
}
