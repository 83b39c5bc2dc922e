//! Imports tasks and their rows.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::change::Change;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{CrewChange, number_of, unnumbered};
use contract::domain::id::mint;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::{PlanPart, TaskId};
use contract::domain::text::counted;
use contract::domain::time::{BootTime, Now, Timestamp};
use contract::operator::Code;
use contract::operator::handoff::HandoffRow;
use contract::operator::handoff::bundle::CarriedRow;

use super::{Unpacking, heard};
use crate::crew::denial::deny;
use crate::error::Result;
use crate::record::{About, EventWriter};

impl Unpacking<'_> {
    /// The tasks, each after its dependencies, and their rows.
    pub(super) fn rows(&mut self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        let all: BTreeMap<&TaskRef, (&HandoffRow, &CarriedRow)> =
            self.bundle.tasks().map(|(row, carried)| (&row.task_id, (row, carried))).collect();
        let mut waiting: BTreeSet<&TaskRef> = all.keys().copied().collect();
        while !waiting.is_empty() {
            let is_free = |name: &&&TaskRef| {
                let needed = all[**name].1.x_row.dependencies();
                needed.iter().all(|needed| !waiting.contains(needed))
            };
            let free: Vec<&TaskRef> = waiting.iter().filter(is_free).copied().collect();
            if free.is_empty() {
                return Err(deny(
                    Code::LedgerInconsistent,
                    "reconcile",
                    "tasks depend on each other in a cycle",
                ));
            }
            for name in free {
                waiting.remove(name);
                let (row, carried) = all[name];
                let task_id = self.create(work, name, carried)?;
                self.write(work, &task_id, row, carried)?;
                self.tasks.insert(name.clone(), task_id);
            }
        }
        Ok(())
    }

    fn create(&self, work: &mut EventWriter<'_, '_>, name: &TaskRef, carried: &CarriedRow) -> Result<TaskId> {
        let others = self.tasks.keys().filter(|other| number_of(other).is_none()).count();
        let number = number_of(name).unwrap_or_else(|| unnumbered(others));
        let task_id: TaskId = mint(work.ids, work.now.at);
        let mut depends_on = Vec::new();
        for needed in carried.x_row.dependencies() {
            depends_on.push(self.task(needed)?.clone());
        }
        depends_on.sort();
        depends_on.dedup();
        let spec = carried.x_spec.clone();
        let created = Change::TaskCreated {
            task_id: task_id.clone(),
            title: spec.title.clone(),
            description: spec.prompt.clone().unwrap_or_default(),
            priority: carried.x_priority,
            project_id: None,
            part: Some(PlanPart { run_id: self.run_id.clone(), number, spec }),
            depends_on,
            checks: None,
        };
        let about = About { task_id: Some(task_id.clone()), ..self.about.clone() };
        work.change(&about, &format!("Task imported: {name}"), &created)?;
        Ok(task_id)
    }

    /// Moves the task into its state, and writes its row.
    fn write(
        &self,
        work: &mut EventWriter<'_, '_>,
        task_id: &TaskId,
        row: &HandoffRow,
        carried: &CarriedRow,
    ) -> Result<()> {
        let name = &row.task_id;
        let about = About { task_id: Some(task_id.clone()), ..self.about.clone() };
        if let Some(files) = carried.x_pinned.clone() {
            let message = format!("{} that its checks use", counted(files.len(), "file"));
            work.change(&about, &message, &Change::TaskPinned { task_id: task_id.clone(), files })?;
        }
        if row.status != Status::Todo {
            let reason = match row.status {
                Status::Blocked | Status::Failed | Status::Canceled => Some(carried.x_row.reason.as_str()),
                Status::Done => carried.x_only_claimed.as_deref(),
                Status::Todo | Status::InProgress => None,
            };
            let moved = Change::TaskMoved {
                task_id: task_id.clone(),
                from: Status::Todo,
                to: row.status,
                evidence: carried.x_evidence,
                reason: reason.map(Reason::of_text),
            };
            work.change(&about, &format!("{name} is {}", row.status), &moved)?;
        }
        let written = CrewChange::RowWritten {
            run_id: self.run_id.clone(),
            task_id: task_id.clone(),
            reference: name.clone(),
            ledger_version: self.bundle.carried.x_run.version,
            delta: None,
            row: Box::new(carried.x_row.clone()),
        };
        self.say(work, Some(task_id), &format!("Row of {name} imported"), written)?;
        match heard(row) {
            Some(at) => Ok(work.tx.record_heartbeat(task_id, &elsewhere(work.now, at))?),
            None => Ok(()),
        }
    }
}

/// A time on another machine: its age on this machine's boot clock is its age on the wall clock.
fn elsewhere(now: &Now, at: Timestamp) -> Now {
    let ago = now.at.millis().saturating_sub(at.millis());
    let millis = now.boot.millis.saturating_sub(ago);
    Now { at, boot: BootTime { boot_id: now.boot.boot_id.clone(), millis } }
}
