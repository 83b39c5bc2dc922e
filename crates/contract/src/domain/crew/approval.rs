//! An approval: a person's decision on one exact action, valid for one use, and denied when its deadline passes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::id::{Approval as ApprovalKind, Id};
use crate::domain::run::RunId;
use crate::domain::task::TaskId;
use crate::domain::time::{Lease, Now, Timestamp};
use crate::shape::words;

pub type ApprovalId = Id<ApprovalKind>;

words! {
    ApprovalState {
        Pending = "pending",
        Granted = "granted",
        Denied = "denied",
        /// It was used for its action and cannot be used again.
        Used = "used",
    }
}

/// The content of an approval request, which never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    pub id: ApprovalId,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// What would be done, for the person who decides.
    pub action: String,
    /// Digest of the exact action: any other action needs another approval.
    pub action_digest: String,
    pub requested_by: String,
    pub deadline: Timestamp,
    /// The same deadline on the boot clock, which cannot be set back.
    pub lease: Lease,
}

/// An approval as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filed {
    #[serde(flatten)]
    pub asked: Approval,
    pub state: ApprovalState,
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    pub used_by: Option<i64>,
    pub requested_at: Timestamp,
}

/// Why an approval does not permit an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    #[error("it has not been decided yet")]
    Pending,
    #[error("it was denied")]
    Denied,
    #[error("the deadline has passed: denied")]
    Expired,
    #[error("it was used already")]
    Used,
    #[error("it is already granted")]
    Granted,
    #[error("the action is not the one that was approved")]
    OtherAction,
}

impl NotApproved {
    pub fn rule(self) -> &'static str {
        match self {
            NotApproved::Pending => "approval_pending",
            NotApproved::Denied => "approval_denied",
            NotApproved::Expired => "approval_expired",
            NotApproved::Used => "approval_used",
            NotApproved::Granted => "approval_granted",
            NotApproved::OtherAction => "approval_other_action",
        }
    }
}

impl Filed {
    pub fn has_expired(&self, now: &Now) -> bool {
        let same_boot = self.asked.lease.boot_id == now.boot.boot_id;
        now.at >= self.asked.deadline || (same_boot && !self.asked.lease.is_live(now))
    }

    /// Whether it can still be decided this way. A grant that was not used can be taken back.
    pub fn decide(&self, granted: bool, now: &Now) -> Result<(), NotApproved> {
        match self.state {
            ApprovalState::Pending | ApprovalState::Granted if self.has_expired(now) => {
                Err(NotApproved::Expired)
            }
            ApprovalState::Granted if granted => Err(NotApproved::Granted),
            ApprovalState::Pending | ApprovalState::Granted => Ok(()),
            ApprovalState::Used => Err(NotApproved::Used),
            ApprovalState::Denied => Err(NotApproved::Denied),
        }
    }

    /// Whether it is pending or granted, and can still be used.
    pub fn is_open(&self, now: &Now) -> bool {
        matches!(self.state, ApprovalState::Pending | ApprovalState::Granted) && !self.has_expired(now)
    }

    /// Whether it permits the action with this digest now.
    pub fn admit(&self, digest: &str, now: &Now) -> Result<(), NotApproved> {
        match self.state {
            ApprovalState::Used => Err(NotApproved::Used),
            ApprovalState::Denied => Err(NotApproved::Denied),
            ApprovalState::Pending | ApprovalState::Granted if self.has_expired(now) => {
                Err(NotApproved::Expired)
            }
            ApprovalState::Pending => Err(NotApproved::Pending),
            ApprovalState::Granted if self.asked.action_digest != digest => Err(NotApproved::OtherAction),
            ApprovalState::Granted => Ok(()),
        }
    }
}

/// The approvals that a start with this digest uses up: the newest of each action that was not used before. Refuses with
/// the first of them that does not permit it, and with the last of all where none is left. What was denied or has expired
/// blocks the task until a later request is granted.
pub fn admitted<'a>(
    asked: &'a [Filed],
    digest: &str,
    now: &Now,
) -> Result<Vec<&'a Filed>, (&'a Filed, NotApproved)> {
    let newest = |filed: &&Filed| {
        let same = |other: &&Filed| other.asked.action == filed.asked.action;
        asked.iter().rfind(same).is_some_and(|last| last.asked.id == filed.asked.id)
    };
    let last_grant = asked.iter().rposition(|filed| filed.admit(digest, now).is_ok());
    let is_over = |at: usize, filed: &Filed| match filed.state {
        ApprovalState::Used => true,
        ApprovalState::Denied => last_grant.is_some_and(|grant| grant > at),
        ApprovalState::Pending | ApprovalState::Granted => {
            filed.has_expired(now) && last_grant.is_some_and(|grant| grant > at)
        }
    };
    let open = asked.iter().enumerate().filter(|(at, filed)| newest(filed) && !is_over(*at, filed));
    let open: Vec<&Filed> = open.map(|(_, filed)| filed).collect();
    if let (true, Some(last)) = (open.is_empty(), asked.last()) {
        return Err((last, NotApproved::Used));
    }
    for filed in &open {
        filed.admit(digest, now).map_err(|fault| (*filed, fault))?;
    }
    Ok(open)
}
