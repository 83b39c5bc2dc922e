//! Claims of dead agent processes: they end at once instead of with their lease.

use contract::domain::process::Holder;
use contract::domain::task::{Command, Task};
use contract::domain::time::Now;
use store::Tx;

use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;
use crate::run::Liveness;
use crate::task::carry_out;

/// Live claims that one call looks at. A machine has far fewer agents at work; the others' turn comes next time.
const CLAIMS: usize = 200;

/// Tasks with live claims of dead processes, in one project or in all.
pub(crate) fn find(tx: &Tx<'_>, view: &HostView, now: &Now, project: Option<&str>) -> Result<Vec<Task>> {
    let claimed = tx.claimed_tasks(project, now, CLAIMS)?;
    // Every process is asked about in one round before the first answer is used.
    let answers: Vec<Result<bool>> = claimed.iter().map(|task| is_orphaned(task, view, now)).collect();
    let mut orphans = Vec::new();
    for (task, is_orphan) in claimed.into_iter().zip(answers) {
        if is_orphan? {
            orphans.push(task);
        }
    }
    Ok(orphans)
}

/// Ends the claims of dead processes, so that their tasks can be taken.
pub(crate) fn end(work: &mut EventWriter<'_, '_>, project: Option<&str>) -> Result<()> {
    for mut task in find(work.tx, work.view, work.now, project)? {
        evict(work, &mut task)?;
    }
    Ok(())
}

/// The same for the claim of one task.
pub(crate) fn end_claim(work: &mut EventWriter<'_, '_>, task: &mut Task) -> Result<()> {
    if is_orphaned(task, work.view, work.now)? { evict(work, task) } else { Ok(()) }
}

/// A process that cannot be seen from here may be alive: then only the lease tells.
fn is_orphaned(task: &Task, view: &HostView, now: &Now) -> Result<bool> {
    let holder = task.live_claim(now).and_then(|claim| claim.holder.as_ref());
    match holder {
        Some(holder) => Ok(view.liveness(&holder.process)? == Liveness::Dead),
        None => Ok(false),
    }
}

fn evict(work: &mut EventWriter<'_, '_>, task: &mut Task) -> Result<()> {
    let holder = task.claim.as_ref().and_then(|claim| claim.holder.as_ref());
    let named =
        |holder: &Holder| format!("Claim ended: {} (pid {}) is dead", holder.program, holder.process.pid);
    let message = holder.map_or_else(|| "Claim ended".to_owned(), named);
    carry_out(work, task, &Command::Evict, &message).map(drop)
}
