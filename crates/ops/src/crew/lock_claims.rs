//! Compares the locks that an orchestrator lists with those that the store granted. Only the store grants locks, so a
//! list changes nothing; what differs is answered.

use contract::domain::crew::lock::HeldLock;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::scope::Scope;
use contract::operator::{Lock, OrchestratorOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Tx;

use super::ledger_state::LedgerState;
use super::paths::real_scopes;
use crate::error::Result;
use crate::host::HostView;

/// A lock that the document and the store disagree about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockDifference {
    /// Where the document lists it; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub task_id: String,
    pub resource: String,
    /// `not_held`, `not_listed`, `still_held` or `other_mode`.
    pub difference: String,
    pub message: String,
}

/// One lock of a list in the document.
struct LockClaim<'e> {
    path: String,
    lock: &'e Lock,
    scope: Scope,
}

/// Every difference between the document's lists and the locks that the run holds now. `document` is the document as it
/// was sent: a list that is missing there does not say that nothing is locked.
pub(crate) fn differences(
    tx: &Tx<'_>,
    state: &LedgerState,
    view: &HostView,
    (document, envelope): (&Value, &OrchestratorOutput),
) -> Result<Vec<LockDifference>> {
    let held = tx.active_locks_of_run(&state.run.asked.id)?;
    let listed = claims(state, view, &envelope.active_locks, "$.active_locks")?;
    let mut found: Vec<LockDifference> = listed.iter().filter_map(|claim| judge(claim, &held)).collect();
    for (index, packet) in envelope.assignments.iter().enumerate() {
        let path = format!("$.assignments[{index}].active_locks");
        let claims = claims(state, view, &packet.active_locks, &path)?;
        found.extend(claims.iter().filter_map(|claim| judge(claim, &held)));
    }
    if document.get("active_locks").is_some() {
        found.extend(held.iter().filter(|lock| !is_listed(lock, &listed)).map(not_listed));
    }
    Ok(found)
}

fn claims<'e>(
    state: &LedgerState,
    view: &HostView,
    locks: &'e [Lock],
    at: &str,
) -> Result<Vec<LockClaim<'e>>> {
    let root = &state.run.asked.workspace;
    let mut found = Vec::new();
    for (index, lock) in locks.iter().enumerate() {
        let real = real_scopes(view, root, std::slice::from_ref(&lock.resource))?;
        let Some(scope) = real.into_iter().next() else { continue };
        found.push(LockClaim { path: format!("{at}[{index}]"), lock, scope });
    }
    Ok(found)
}

/// What is wrong with a lock that the document lists.
fn judge(claim: &LockClaim<'_>, held: &[HeldLock]) -> Option<LockDifference> {
    let (task, scope) = (&claim.lock.task_id, &claim.scope);
    let own = |lock: &&HeldLock| lock.reference == *task;
    let covering = held.iter().filter(own).find(|lock| lock.scope.contains(scope));
    let (difference, message) = match (claim.lock.active, covering) {
        (true, None) => {
            ("not_held", format!("{task} does not hold `{scope}`; the list does not grant a lock"))
        }
        (true, Some(lock)) => match claim.lock.x_mode.filter(|mode| *mode != lock.mode) {
            None => return None,
            Some(_) => ("other_mode", format!("{task} holds `{scope}` as {}", lock.mode.as_str())),
        },
        (false, Some(_)) => {
            let hint = "`writ lock release` releases it";
            ("still_held", format!("{task} still holds `{scope}`; {hint}"))
        }
        (false, None) => return None,
    };
    Some(difference_of(Some(claim.path.clone()), task, scope, (difference, message)))
}

fn is_listed(lock: &HeldLock, listed: &[LockClaim<'_>]) -> bool {
    listed.iter().any(|claim| {
        claim.lock.task_id == lock.reference
            && (claim.scope.contains(&lock.scope) || lock.scope.contains(&claim.scope))
    })
}

fn not_listed(lock: &HeldLock) -> LockDifference {
    let message = format!("{} holds `{}`, which the document does not list", lock.reference, lock.scope);
    difference_of(None, &lock.reference, &lock.scope, ("not_listed", message))
}

fn difference_of(
    path: Option<String>,
    task: &TaskRef,
    scope: &Scope,
    (difference, message): (&str, String),
) -> LockDifference {
    LockDifference {
        path,
        task_id: task.to_string(),
        resource: scope.to_string(),
        difference: difference.to_owned(),
        message,
    }
}
