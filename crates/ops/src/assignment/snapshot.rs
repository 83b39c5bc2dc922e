//! Writes down what the scope of an assignment held before its worker began.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::snapshot::Snapshot;
use contract::operator::fencing::Refused;

use crate::context::{Caller, Context};
use crate::crew::denial::refused;
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;

/// Keeps the snapshot of an open assignment. The first one stays: taken again, nothing happens.
pub fn keep(cx: &mut Context, caller: &Caller, token: i64, snapshot: &Snapshot) -> Result<()> {
    let now = cx.clock.now();
    let tx = cx.store.begin()?;
    let open = tx.assignment(token)?.ok_or_else(|| refused(Refused::StaleToken))?;
    if open.snapshot.is_some() || open.ended.is_some() {
        return Ok(());
    }
    let task = crate::task::required(&tx, open.task_id.as_str())?;
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &HostView::default() };
    let about = crate::task::about(&tx, &task)?;
    let taken = CrewChange::SnapshotTaken {
        token,
        run_id: open.run_id,
        task_id: open.task_id,
        snapshot: snapshot.clone(),
    };
    let message = format!("{} files in scope before token {token}", snapshot.files.len());
    work.change(&about, &message, &Change::Crew(taken))?;
    Ok(tx.commit()?)
}
