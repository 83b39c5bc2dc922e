//! How the files changed while the worker held its assignment.

use contract::domain::crew::snapshot::{Snapshot, SnapshotChanges, compare};
use contract::domain::outside::{self, Interval, Outside};
use contract::domain::scope::Scope;
use contract::operator::Code;

use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::crew::meanwhile::{self, Since};
use crate::error::Result;
use crate::host::{WatchEnd, WatchedScopes};
use crate::record::EventWriter;
use crate::result::{JudgedResult, Observation};

/// How the files changed since the snapshot, in the scope and outside it.
pub(super) fn seen_changes(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &JudgedResult,
    seen: &Observation,
) -> Result<Option<SnapshotChanges>> {
    let Some((after, watched)) = &seen.workspace else { return Ok(None) };
    let Some(before) = &judged.issued.snapshot else {
        let message = "the assignment has no snapshot of its scope, so its changes are unknown";
        return Err(deny(Code::LedgerInconsistent, "snapshot_missing", message));
    };
    let mut changes = compare(before, &after.files, &judged.claimed);
    let outside = outside(work, state, judged, (after, watched, before))?;
    changes.outside = Some(outside).filter(|outside| !outside.is_empty());
    Ok(Some(changes))
}

/// Changes outside the scope of the assignment, and their author.
fn outside(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &JudgedResult,
    (after, watched, before): (&WatchEnd, &WatchedScopes, &Snapshot),
) -> Result<Outside> {
    let root = &state.run.asked.workspace;
    let own = judged.issued.packet["task"]["worklog_path"].as_str();
    let own = own.and_then(|path| Scope::parse(path, Some(root)).ok());
    let scratch: Vec<Scope> = watched.scratch.iter().cloned().chain(own).collect();
    let since = Since {
        oldest_grant: before.oldest_grant.unwrap_or(0),
        own_grant: judged.issued.token,
        at: judged.issued.issued_at,
    };
    let others = meanwhile::others_in(work.tx, &state.run, &judged.issued.task_id, since, work.now)?;
    let interval = Interval {
        scope: &watched.scopes,
        forbidden: &watched.forbidden,
        scratch: &scratch,
        others: &others,
        fold: work.view.folds_case(root)?,
    };
    let outside = outside::judge(&interval, after.changed.iter().map(String::as_str));
    Ok(Outside { not_seen: after.not_seen.clone(), ..outside })
}
