//! The current state of a run's ledger: its rows, its tasks and their heartbeats.

use std::collections::BTreeMap;

use contract::domain::crew::reference_of;
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::limits;
use contract::domain::run::{DocumentKind, Run};
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::{Now, Timestamp};
use contract::operator::{Code, Ledger};
use serde_json::{Value, json};
use store::{LastHeartbeat, Tx};

use super::denial::deny;
use super::planned::planned;
use crate::error::{Error, Result};

pub(crate) struct LedgerState {
    pub(crate) run: Run,
    /// Applied deltas are looked up when they are needed, not loaded.
    pub(crate) ledger: Ledger,
    pub(crate) tasks: BTreeMap<TaskRef, Task>,
    pub(crate) heard: BTreeMap<TaskRef, LastHeartbeat>,
}

/// A run by its UUID, its id, an unambiguous beginning of it, or its correlation.
pub(crate) fn find_run(tx: &Tx<'_>, text: &str) -> Result<Run> {
    crate::run::find(tx, text)
}

/// The name that operator documents give a task.
pub(crate) fn reference_of_task(tx: &Tx<'_>, task: &Task) -> Result<TaskRef> {
    Ok(match tx.ledger_row(&task.id)? {
        Some(row) => row.reference,
        None => reference_of(task.part.as_ref().map_or(0, |part| part.number)),
    })
}

/// A task's name as operator documents write it.
pub(crate) fn reference(text: &str) -> Result<TaskRef> {
    TaskRef::parse(text).ok_or_else(|| {
        let clean = contract::secrets::scrub(text);
        let shown: String = clean.chars().take(80).flat_map(char::escape_debug).collect();
        deny(
            Code::SchemaInvalid,
            "task_id",
            format!("`{shown}` must be a task of the run: `T-` and a number, its id in the plan, or 36 hexadecimal digits and dashes"),
        )
    })
}

/// One task of a run, without the rest of its ledger.
pub(crate) fn find_task(tx: &Tx<'_>, run: &str, name: &TaskRef) -> Result<(Run, Task)> {
    let run = find_run(tx, run)?;
    let task = match tx.task_named(&run.asked.id, name)? {
        Some(id) => tx.task(&id)?,
        None => None,
    };
    match task {
        Some(task) => Ok((run, task)),
        None => Err(LedgerState::load(tx, run)?.missing(name)),
    }
}

impl LedgerState {
    pub(crate) fn load(tx: &Tx<'_>, run: Run) -> Result<Self> {
        let mut known: BTreeMap<TaskId, store::LedgerRow> =
            tx.ledger_rows(&run.asked.id)?.into_iter().map(|row| (row.task_id.clone(), row)).collect();
        let tasks = tx.tasks_of_run(&run.asked.id)?;
        let name = |task: &Task| match known.get(&task.id) {
            Some(row) => row.reference.clone(),
            None => reference_of(task.part.as_ref().map_or(0, |part| part.number)),
        };
        let names: BTreeMap<TaskId, TaskRef> =
            tasks.iter().map(|task| (task.id.clone(), name(task))).collect();
        let mut ledger = Ledger { version: tx.ledger_version(&run.asked.id)?, ..Ledger::default() };
        let mut state_tasks = BTreeMap::new();
        let mut heard = BTreeMap::new();
        for task in tasks {
            let reference = names[&task.id].clone();
            let mut row = match known.remove(&task.id) {
                Some(stored) => {
                    if let Some(beat) = stored.heard {
                        heard.insert(reference.clone(), beat);
                    }
                    stored.row
                }
                None => planned(&task, &names),
            };
            row.status = task.status;
            ledger.rows.insert(reference.clone(), row);
            state_tasks.insert(reference, task);
        }
        Ok(Self { run, ledger, tasks: state_tasks, heard })
    }

    pub(crate) fn of(tx: &Tx<'_>, run: &str) -> Result<Self> {
        Self::load(tx, find_run(tx, run)?)
    }

    /// Refuses a run that is an engine's to work: an orchestrator has no say in it.
    pub(crate) fn of_a_crew(self) -> Result<Self> {
        if self.run.asked.kind == DocumentKind::Ledger {
            return Ok(self);
        }
        let message = format!("run {} belongs to `writ run`, not to a crew", self.run.asked.id);
        Err(deny(Code::NonCompliant, "run_of_an_engine", message)
            .hint("name a run that was opened with `writ ledger open`"))
    }

    /// The run's id as operator documents carry it.
    pub(crate) fn run_uuid(&self) -> Result<String> {
        uuid(&self.run)
    }

    pub(crate) fn task(&self, reference: &TaskRef) -> Result<&Task> {
        self.tasks.get(reference).ok_or_else(|| self.missing(reference))
    }

    /// The error for a name that no task of the run has; it lists those that there are.
    fn missing(&self, name: &TaskRef) -> Error {
        let id = &self.run.asked.id;
        let known: Vec<&str> = self.tasks.keys().map(TaskRef::as_str).take(limits::CANDIDATES_MAX).collect();
        let hint = match known.as_slice() {
            [] => format!("run {id} has no tasks yet; `writ ledger apply` adds them"),
            known => format!("run {id} has {}; `writ ledger show {id}` shows them", known.join(", ")),
        };
        Error::not_found("task", name.as_str())
            .hint(hint)
            .details(json!({"task": name, "run": id, "candidates": known}))
    }

    pub(crate) fn row(&self, reference: &TaskRef) -> Result<&CrewRow> {
        self.task(reference)?;
        Ok(&self.ledger.rows[reference])
    }

    pub(crate) fn is_done(&self, reference: &TaskRef) -> bool {
        self.ledger.rows.get(reference).is_some_and(|row| row.status == Status::Done)
    }

    /// The last heartbeat, from a delta or from the worker.
    pub(crate) fn last_heartbeat(&self, reference: &TaskRef) -> Option<Timestamp> {
        let written = self.ledger.rows.get(reference).and_then(|row| row.last_heartbeat_at.as_deref());
        let heard = self.heard.get(reference).map(|heard| heard.at);
        written.and_then(Timestamp::parse_utc).max(heard)
    }

    /// The same, adjusted to the boot clock, so that a wall clock change causes no timeout.
    pub(crate) fn judged_heartbeat(&self, reference: &TaskRef, now: &Now) -> Option<Timestamp> {
        match self.heard.get(reference) {
            Some(heard) if heard.boot.boot_id == now.boot.boot_id => {
                let age = now.boot.millis.saturating_sub(heard.boot.millis);
                Some(Timestamp::from_millis(now.at.millis().saturating_sub(age)))
            }
            // A worker of an earlier boot is gone.
            Some(_) => Some(Timestamp::from_millis(0)),
            None => self.last_heartbeat(reference),
        }
    }

    /// The row as answers show it.
    pub(crate) fn view(&self, reference: &TaskRef) -> Value {
        let mut view = json!(self.ledger.rows.get(reference));
        if let Some(fields) = view.as_object_mut() {
            fields.insert("task_id".to_owned(), json!(reference));
            fields.insert("last_heartbeat_at".to_owned(), json!(self.last_heartbeat(reference)));
            if let Some(task) = self.tasks.get(reference) {
                fields.insert("x_task".to_owned(), json!(task.id));
                fields.insert("x_evidence".to_owned(), json!(task.evidence));
                if let Some(reason) = task.withheld() {
                    fields.insert("x_only_claimed".to_owned(), json!(reason));
                }
            }
        }
        view
    }
}

pub(crate) fn uuid(run: &Run) -> Result<String> {
    run.asked.id.uuid().ok_or_else(|| {
        deny(
            Code::SchemaInvalid,
            "run_id",
            format!("the run {} has no UUID, so it has no ledger", run.asked.id),
        )
    })
}
