//! Imports locks, for the rest of their lease, and assignments.

use std::collections::BTreeMap;

use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::Amount;
use contract::domain::crew::lock::{Grant, LockMode, WantedLock};
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::json::Value;
use contract::operator::handoff::bundle::{CarriedAssignment, lease_left};
use contract::operator::{Code, Lock, Options, read_assignment};

use super::{Unpacking, heard};
use crate::crew::conditions::checks_of;
use crate::crew::conflict;
use crate::crew::denial::{denied, deny};
use crate::crew::grants::{self, LockRequest};
use crate::crew::paths::real_scopes;
use crate::error::Result;
use crate::record::EventWriter;

impl Unpacking<'_> {
    /// The locks, for the rest of their lease. A conflicting lock in this store is an error.
    pub(super) fn locks(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        let mut grants: BTreeMap<i64, Vec<&Lock>> = BTreeMap::new();
        for lock in self.bundle.handoff.active_locks.iter().filter(|lock| lock.active) {
            let token = lock.x_fencing_token.and_then(|token| i64::try_from(token).ok()).unwrap_or(0);
            grants.entry(token).or_default().push(lock);
        }
        for (token, locks) in grants {
            let name = &locks[0].task_id;
            let task_id = self.task(name)?;
            let grant = self.grant(work, task_id, token, &locks)?;
            let message = format!("{name} keeps its locks, with token {token}");
            self.say(work, Some(task_id), &message, CrewChange::LocksGranted { grant })?;
        }
        Ok(())
    }

    fn grant(
        &self,
        work: &EventWriter<'_, '_>,
        task_id: &TaskId,
        token: i64,
        locks: &[&Lock],
    ) -> Result<Grant> {
        let name = &locks[0].task_id;
        let timeout_ms = locks[0].extra.get("x_timeout_ms").and_then(Value::as_u64).unwrap_or(0);
        if locks.iter().any(|lock| lock.task_id != *name || lock.extra != locks[0].extra) {
            let message = format!("token {token} must belong to one grant of one task");
            return Err(deny(Code::LedgerInconsistent, "duplicate", message));
        }
        let mut scopes = Vec::new();
        for lock in locks {
            let scope = self.real(&lock.resource)?;
            scopes.push(WantedLock { scope, mode: lock.x_mode.unwrap_or(LockMode::Exclusive) });
        }
        scopes.sort();
        let run = crate::run::required(work.tx, &self.run_id)?;
        let task = crate::task::required(work.tx, task_id.as_str())?;
        let asked = LockRequest {
            run: &run,
            task: &task,
            reference: name,
            scopes: scopes.clone(),
            timeout: std::time::Duration::from_millis(timeout_ms),
            fold: self.view.folds_case(self.workspace)?,
            holder: None,
        };
        if let Some(conflict) = grants::find_conflict(work.tx, &asked)? {
            return Err(conflict::refusal(&run, name, &conflict));
        }
        let row = self.bundle.handoff.ledger.iter().find(|row| row.task_id == *name);
        let silent = row.filter(|row| row.status == Status::InProgress).and_then(heard);
        Ok(Grant {
            token,
            run_id: self.run_id.clone(),
            task_id: task_id.clone(),
            reference: name.clone(),
            workspace: self.workspace.to_owned(),
            scopes,
            timeout_ms,
            lease: lease_left(work.now, timeout_ms, silent),
            holder: None,
        })
    }

    /// A path without symbolic links, which must be the same as in the bundle.
    fn real(&self, resource: &str) -> Result<Scope> {
        let real = real_scopes(self.view, self.workspace, &[resource.to_owned()])?;
        match real.into_iter().next().filter(|real| real.as_str() == resource) {
            Some(real) => Ok(real),
            None => {
                let message = "a lock of the bundle is another path here because of a symbolic link";
                Err(deny(Code::ScopeViolation, "workspace_differs", message))
            }
        }
    }

    pub(super) fn assignments(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for given in &self.bundle.carried.x_assignments {
            let task_id = self.task(&given.task_id)?.clone();
            self.judge_packet(given)?;
            let (token, run_id) = (given.token, self.run_id.clone());
            let issued = CrewChange::AssignmentIssued {
                token,
                run_id: run_id.clone(),
                task_id: task_id.clone(),
                packet: given.packet.clone(),
                token_hash: given.token_hash.clone(),
            };
            self.say(work, Some(&task_id), &format!("{} was assigned", given.task_id), issued)?;
            let mut more = Vec::new();
            if let Some(snapshot) = given.snapshot.clone() {
                let (run_id, task_id) = (run_id.clone(), task_id.clone());
                more.push(CrewChange::SnapshotTaken { token, run_id, task_id, snapshot });
            }
            if let Some(amount) = given.reserved {
                let (run_id, task_id) = (run_id.clone(), task_id.clone());
                more.push(CrewChange::BudgetReserved { token, run_id, task_id, amount });
            }
            if let Some(ended) = given.ended {
                more.push(CrewChange::AssignmentEnded { token, run_id, task_id: task_id.clone(), ended });
            }
            for change in more {
                self.say(work, Some(&task_id), &format!("Assignment {token} imported"), change)?;
            }
        }
        Ok(())
    }

    /// What is withheld, as a reservation that ended without a report.
    pub(super) fn withheld(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for (row, carried) in self.bundle.tasks().filter(|(_, carried)| !carried.x_withheld.is_zero()) {
            let task_id = self.task(&row.task_id)?.clone();
            let (token, amount) = (work.tx.next_number("fencing")?, carried.x_withheld);
            let run_id = self.run_id.clone();
            let reserved = CrewChange::BudgetReserved {
                token,
                run_id: run_id.clone(),
                task_id: task_id.clone(),
                amount,
            };
            let booked = CrewChange::BudgetBooked {
                token,
                run_id,
                task_id: task_id.clone(),
                reserved: amount,
                spent: Amount::default(),
                withheld: amount,
            };
            for change in [reserved, booked] {
                self.say(
                    work,
                    Some(&task_id),
                    &format!("Budget withheld for {} imported", row.task_id),
                    change,
                )?;
            }
        }
        Ok(())
    }

    /// A packet must be valid here: its paths stay in this workspace, and its checks are those of the plan.
    fn judge_packet(&self, given: &CarriedAssignment) -> Result<()> {
        let task = &given.packet["task"];
        let lists = [&task["lock_scope"], &task["forbidden_scope"]].into_iter().filter_map(Value::as_array);
        let paths = lists.flatten().chain([&task["worklog_path"]]).filter_map(Value::as_str);
        let links = self.view.links(self.workspace, &paths.collect::<Vec<_>>())?;
        let options = Options {
            root: Some(self.workspace),
            links: Some(links),
            fold: self.view.folds_case(self.workspace)?,
            ..self.options()
        };
        read_assignment(given.packet.to_string().as_bytes(), &options).map_err(|refusal| denied(&refusal))?;
        let specs = self.bundle.tasks().find(|(row, _)| row.task_id == given.task_id);
        let own = specs.map(|(_, carried)| checks_of(&carried.x_spec)).unwrap_or_default();
        let sent = task["x_checks"].as_array().cloned().unwrap_or_default();
        if sent == own {
            return Ok(());
        }
        let message = format!("the packet of {} has other checks than the plan", given.task_id);
        Err(deny(Code::NonCompliant, "checks_of_another", message))
    }
}
