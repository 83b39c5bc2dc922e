//! Removes snapshots that are old, or too many, and the contents that only they had.

use std::collections::BTreeSet;

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::rollback::is_open;
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::host::{Collected, Collection};
use crate::verb::{Function, Surface, Verb};

pub struct Gc;

impl Verb for Gc {
    const NAME: &'static str = "snapshots.gc";
    const COMMAND: &'static str = "snapshots gc";
    const SUMMARY: &'static str = "Remove snapshots that are old or take too much space";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Collected;
    const FUNCTION: Function<Self> = Function::Repeatable(|cx, _, _| collect(cx, false));
}

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "snapshots.preview_gc";
    const COMMAND: &'static str = "snapshots gc --dry-run";
    const SUMMARY: &'static str = "Show which snapshots would be removed";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Collected;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, _| collect(cx, true));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SnapshotsGc")]
pub struct Request {}

/// Snapshots of tasks that have not ended stay, and those of a rollback that has not.
pub fn collect(cx: &mut Context, is_preview: bool) -> Result<Collected> {
    let host = cx.host();
    let kept = host.kept_snapshots()?;
    let now = cx.now().at;
    let tx = cx.store.read()?;
    // A clock that was set forward must not make snapshots look old.
    let now = tx.confirmed(now)?;
    let mut held: BTreeSet<AttemptId> = BTreeSet::new();
    for snapshot in &kept {
        // Snapshots of tasks of other stores are kept by age only.
        let Some(task) = tx.task(&snapshot.task_id)? else { continue };
        let attempts = tx.attempts_of_task(&task.id)?;
        if !task.status.is_terminal() || is_open(&attempts) {
            held.insert(snapshot.attempt_id.clone());
        }
    }
    drop(tx);
    let kept_ms = i64::try_from(limits::SNAPSHOTS_KEPT.as_millis()).expect("BUG: two weeks fit");
    let cutoff = Timestamp::from_millis(now.millis().saturating_sub(kept_ms));
    let listed = kept.into_iter().map(|snapshot| snapshot.attempt_id).collect();
    let bytes_max = limits::SNAPSHOTS_BYTES_MAX;
    host.collect_snapshots(&Collection { listed, held, cutoff, bytes_max, is_preview })
}
