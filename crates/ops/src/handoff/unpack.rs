//! Writes what a bundle says into the store, as events like any others.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::change::Change;
use contract::domain::crew::approval::{Approval, ApprovalState};
use contract::domain::crew::handoff::{Bundle, CarriedApproval, CarriedAssignment, CarriedRow, lease_left};
use contract::domain::crew::lock::{Grant, Wanted};
use contract::domain::crew::{CrewChange, number_of, unnumbered};
use contract::domain::id::{Event, mint};
use contract::domain::run::{DocumentKind, NewRun, RunId, RunState};
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::task::{PlanPart, TaskId};
use contract::domain::time::{BootTime, Lease, Now, Timestamp};
use contract::json::Value;
use contract::operator::handoff::HandoffRow;
use contract::operator::ids::parse_utc;
use contract::operator::{
    Code, Lock, Mode, Options, TaskId as Reference, read_assignment, read_result, validate_worklog,
};
use contract::plan::Plan;

use super::import::Request;
use crate::crew::Ground;
use crate::crew::conditions::checks_of;
use crate::crew::denial::{denied, deny};
use crate::crew::grants::{self, Asked};
use crate::crew::ground::real_scopes;
use crate::error::Result;
use crate::record::{About, Scribe};

/// What all parts of the writing need.
struct Unpacking<'b> {
    bundle: &'b Bundle,
    about: About,
    run_id: RunId,
    ground: &'b dyn Ground,
    workspace: &'b str,
    tasks: BTreeMap<Reference, TaskId>,
}

/// Writes the whole bundle. Its tokens are good in this store.
pub(super) fn unpack(
    work: &mut Scribe<'_, '_>,
    run_id: &RunId,
    bundle: &Bundle,
    (request, digest): (&Request, &str),
    ground: &dyn Ground,
) -> Result<()> {
    let run = new_run(work, run_id, bundle, &request.workspace);
    let about = crate::run::submit::announce(work, &run)?;
    let about = About { reply_to: Some(run.origin_id), ..about };
    let workspace = &request.workspace;
    let tasks = BTreeMap::new();
    let mut unpacking = Unpacking { bundle, about, run_id: run_id.clone(), ground, workspace, tasks };
    unpacking.rows(work)?;
    if let Some(purse) = bundle.carried.x_budget {
        let set = CrewChange::BudgetSet { run_id: run_id.clone(), limit: purse.limit };
        unpacking.say(work, None, "The budget came with the run", set)?;
    }
    unpacking.locks(work)?;
    unpacking.assignments(work)?;
    unpacking.results(work)?;
    unpacking.blockers(work)?;
    unpacking.worklogs(work)?;
    unpacking.approvals(work)?;
    let taken = CrewChange::HandoffTaken {
        run_id: run_id.clone(),
        digest: digest.to_owned(),
        ledger_version: bundle.carried.x_run.version,
        fencing: bundle.carried.x_run.fencing,
        spent: bundle.carried.x_budget.map(|purse| purse.spent),
        deltas: bundle.carried.x_applied.clone(),
    };
    unpacking.say(work, None, &format!("Taken over from {digest}"), taken)?;
    unpacking.run_state(work)
}

fn new_run(work: &mut Scribe<'_, '_>, id: &RunId, bundle: &Bundle, workspace: &str) -> NewRun {
    let run = &bundle.carried.x_run;
    let objective = bundle.handoff.objective.clone();
    NewRun {
        id: id.clone(),
        corr: run.corr.clone(),
        origin_id: mint::<Event>(work.ids, work.now.at).to_string(),
        kind: DocumentKind::Ledger,
        plan: Plan {
            objective: objective.clone(),
            workspace: None,
            max_parallel: run.max_parallel,
            tasks: bundle.rows.iter().map(|row| row.x_spec.clone()).collect(),
        },
        objective,
        workspace: workspace.to_owned(),
        intent: run.intent.clone(),
        requested_by: work.caller.entity.clone(),
        depth: 1,
        parent_run: None,
        document_digest: run.document_digest.clone(),
    }
}

impl Unpacking<'_> {
    fn say(
        &self,
        work: &mut Scribe<'_, '_>,
        task: Option<&TaskId>,
        message: &str,
        change: CrewChange,
    ) -> Result<()> {
        let about = About { task_id: task.cloned(), ..self.about.clone() };
        work.change(&about, message, &Change::Crew(change))?;
        Ok(())
    }

    fn task(&self, name: &Reference) -> Result<&TaskId> {
        self.tasks.get(name).ok_or_else(|| {
            deny(Code::LedgerInconsistent, "base_row_missing", format!("{name} is not in the ledger"))
        })
    }

    /// The tasks, each after those it waits for, and their rows.
    fn rows(&mut self, work: &mut Scribe<'_, '_>) -> Result<()> {
        let all: BTreeMap<&Reference, (&HandoffRow, &CarriedRow)> =
            self.bundle.tasks().map(|(row, carried)| (&row.task_id, (row, carried))).collect();
        let mut waiting: BTreeSet<&Reference> = all.keys().copied().collect();
        while !waiting.is_empty() {
            let is_free = |name: &&&Reference| {
                let needed = all[**name].1.x_row.dependencies();
                needed.iter().all(|needed| !waiting.contains(needed))
            };
            let free: Vec<&Reference> = waiting.iter().filter(is_free).copied().collect();
            if free.is_empty() {
                return Err(deny(Code::LedgerInconsistent, "reconcile", "tasks wait for each other"));
            }
            for name in free {
                waiting.remove(name);
                let (row, carried) = all[name];
                let task_id = self.create(work, name, carried)?;
                self.bring(work, &task_id, row, carried)?;
                self.tasks.insert(name.clone(), task_id);
            }
        }
        Ok(())
    }

    fn create(&self, work: &mut Scribe<'_, '_>, name: &Reference, carried: &CarriedRow) -> Result<TaskId> {
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
        };
        let about = About { task_id: Some(task_id.clone()), ..self.about.clone() };
        work.change(&about, &format!("Task taken over: {name}"), &created)?;
        Ok(task_id)
    }

    /// Brings the task into its state, and writes its row.
    fn bring(
        &self,
        work: &mut Scribe<'_, '_>,
        task_id: &TaskId,
        row: &HandoffRow,
        carried: &CarriedRow,
    ) -> Result<()> {
        let name = &row.task_id;
        if row.status != Status::Todo {
            let reason = Some(carried.x_row.reason.clone())
                .filter(|_| matches!(row.status, Status::Blocked | Status::Failed | Status::Canceled));
            let moved = Change::TaskMoved {
                task_id: task_id.clone(),
                from: Status::Todo,
                to: row.status,
                evidence: carried.x_evidence,
                reason,
            };
            let about = About { task_id: Some(task_id.clone()), ..self.about.clone() };
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
        self.say(work, Some(task_id), &format!("The row of {name}"), written)?;
        match heard(row) {
            Some(at) => Ok(work.tx.hear(task_id, &elsewhere(work.now, at))?),
            None => Ok(()),
        }
    }

    /// The grants, as long as they still last. Places that others hold here stand in the way.
    fn locks(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        let mut grants: BTreeMap<i64, Vec<&Lock>> = BTreeMap::new();
        for lock in self.bundle.handoff.active_locks.iter().filter(|lock| lock.active) {
            let token = lock.x_fencing_token.and_then(|token| i64::try_from(token).ok()).unwrap_or(0);
            grants.entry(token).or_default().push(lock);
        }
        for (token, locks) in grants {
            let name = &locks[0].task_id;
            let task_id = self.task(name)?;
            let grant = self.grant(work, task_id, token, &locks)?;
            let message = format!("{name} holds what it held, with token {token}");
            self.say(work, Some(task_id), &message, CrewChange::LocksGranted { grant })?;
        }
        Ok(())
    }

    fn grant(&self, work: &Scribe<'_, '_>, task_id: &TaskId, token: i64, locks: &[&Lock]) -> Result<Grant> {
        let name = &locks[0].task_id;
        let timeout_ms = locks[0].extra.get("x_timeout_ms").and_then(Value::as_u64).unwrap_or(0);
        if locks.iter().any(|lock| lock.task_id != *name || lock.extra != locks[0].extra) {
            let message = format!("token {token} stands for one grant of one task");
            return Err(deny(Code::LedgerInconsistent, "duplicate", message));
        }
        let mut scopes = Vec::new();
        for lock in locks {
            let scope = self.real(&lock.resource)?;
            scopes.push(Wanted { scope, mode: lock.x_mode.unwrap_or(Mode::Exclusive) });
        }
        scopes.sort();
        let run = crate::run::required(work.tx, &self.run_id)?;
        let task = crate::task::required(work.tx, task_id.as_str())?;
        let asked = Asked {
            run: &run,
            task: &task,
            reference: name,
            scopes: scopes.clone(),
            timeout: std::time::Duration::from_millis(timeout_ms),
            fold: self.ground.folds_case(self.workspace),
        };
        grants::refuse_conflict(work.tx, &asked)?;
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
        })
    }

    /// A place under its real name, which has to be the one it had before.
    fn real(&self, resource: &str) -> Result<Scope> {
        let real = real_scopes(self.ground, self.workspace, &[resource.to_owned()])?;
        match real.into_iter().next().filter(|real| real.as_str() == resource) {
            Some(real) => Ok(real),
            None => {
                let message = "a lock of the bundle is another place here: a link stands in the way";
                Err(deny(Code::ScopeViolation, "workspace_differs", message))
            }
        }
    }

    fn assignments(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        for given in &self.bundle.carried.x_assignments {
            let task_id = self.task(&given.task_id)?.clone();
            self.judge_packet(given)?;
            let (token, run_id) = (given.token, self.run_id.clone());
            let issued = CrewChange::AssignmentIssued {
                token,
                run_id: run_id.clone(),
                task_id: task_id.clone(),
                packet: given.packet.clone(),
            };
            self.say(work, Some(&task_id), &format!("{} was given out", given.task_id), issued)?;
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
                self.say(work, Some(&task_id), &format!("Assignment {token} as it was"), change)?;
            }
        }
        Ok(())
    }

    /// A packet must be one that could have been sent here: its paths stay in this workspace, and its checks are the
    /// author's.
    fn judge_packet(&self, given: &CarriedAssignment) -> Result<()> {
        let task = &given.packet["task"];
        let lists = [&task["lock_scope"], &task["forbidden_scope"]].into_iter().filter_map(Value::as_array);
        let paths = lists.flatten().chain([&task["worklog_path"]]).filter_map(Value::as_str);
        let links = self.ground.links(self.workspace, &paths.collect::<Vec<_>>());
        let options = Options {
            root: Some(self.workspace),
            links: Some(&links),
            fold: self.ground.folds_case(self.workspace),
            ..Options::default()
        };
        read_assignment(given.packet.to_string().as_bytes(), &options).map_err(|refusal| denied(&refusal))?;
        let specs = self.bundle.tasks().find(|(row, _)| row.task_id == given.task_id);
        let own = specs.map(|(_, carried)| checks_of(&carried.x_spec)).unwrap_or_default();
        let sent = task["x_checks"].as_array().cloned().unwrap_or_default();
        if sent == own {
            return Ok(());
        }
        let message = format!("the packet of {} has other checks than its author's", given.task_id);
        Err(deny(Code::NonCompliant, "checks_of_another", message))
    }

    fn results(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        for accepted in &self.bundle.carried.x_results {
            let bytes = accepted.result.to_string();
            let read = read_result(bytes.as_bytes(), &Options::default());
            let (result, _) = read.map_err(|refusal| denied(&refusal))?;
            let task_id = self.task(&accepted.task_id)?;
            let change = CrewChange::ResultAccepted {
                token: accepted.token,
                run_id: self.run_id.clone(),
                task_id: task_id.clone(),
                status: result.status.as_str().to_owned(),
                result: accepted.result.clone(),
                checks: accepted.checks.clone(),
                changes: accepted.changes.clone(),
            };
            let message = format!("{} said {}", accepted.task_id, result.status);
            self.say(work, Some(task_id), &message, change)?;
        }
        Ok(())
    }

    fn blockers(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        for blocker in &self.bundle.handoff.open_blockers {
            let task_id = self.task(&blocker.task_id)?;
            let run_id = self.run_id.clone();
            let message = format!("{} is blocked: {}", blocker.task_id, blocker.code);
            let raised =
                CrewChange::BlockerRaised { run_id, task_id: task_id.clone(), blocker: blocker.clone() };
            self.say(work, Some(task_id), &message, raised)?;
        }
        Ok(())
    }

    fn worklogs(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        for log in &self.bundle.carried.x_worklogs {
            let lines = self.bundle.lines(&log.task_id);
            let file = contract::domain::crew::worklog::file_of(&lines);
            let judged = validate_worklog(&file, &Options::default());
            if !judged.allow {
                return Err(denied(&judged));
            }
            let task_id = self.task(&log.task_id)?;
            for (line, carried) in lines.into_iter().zip(&log.lines) {
                let entry: Value = serde_json::from_str(&line.text).unwrap_or_default();
                if entry["task_id"] != log.task_id.as_str() {
                    let message = format!("line {} of {} is another task's", line.number, log.task_id);
                    return Err(deny(Code::NonCompliant, "identity_mismatch", message));
                }
                let message = format!("{} line {} as it was", log.task_id, line.number);
                let (run_id, token) = (self.run_id.clone(), carried.token);
                let appended = CrewChange::WorklogAppended { run_id, task_id: task_id.clone(), token, line };
                self.say(work, Some(task_id), &message, appended)?;
            }
        }
        Ok(())
    }

    /// Open questions are asked anew, under ids of this store; what was answered stays answered.
    fn approvals(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        for asked in &self.bundle.carried.x_approvals {
            let task_id = self.task(&asked.task_id)?.clone();
            let approval = self.approval(work, asked, &task_id);
            let id = approval.id.clone();
            let message = format!("Approval asked: {}", asked.action);
            self.say(work, Some(&task_id), &message, CrewChange::ApprovalRequested { approval })?;
            if let Some(by) = asked.decided_by.clone() {
                let decided = CrewChange::ApprovalDecided {
                    id: id.clone(),
                    run_id: self.run_id.clone(),
                    task_id: task_id.clone(),
                    granted: asked.state == ApprovalState::Used,
                    by,
                    reason: asked.reason.clone(),
                };
                self.say(work, Some(&task_id), "It was decided", decided)?;
            }
            if let Some(token) = asked.used_by {
                let run_id = self.run_id.clone();
                let used = CrewChange::ApprovalUsed { id, run_id, task_id: task_id.clone(), token };
                self.say(work, Some(&task_id), "It was used", used)?;
            }
        }
        Ok(())
    }

    fn approval(&self, work: &mut Scribe<'_, '_>, asked: &CarriedApproval, task_id: &TaskId) -> Approval {
        Approval {
            id: mint(work.ids, work.now.at),
            run_id: self.run_id.clone(),
            task_id: task_id.clone(),
            action: asked.action.clone(),
            action_digest: asked.action_digest.clone(),
            requested_by: asked.requested_by.clone(),
            deadline: asked.deadline,
            lease: Lease::starting(work.now, asked.deadline.since(work.now.at)),
        }
    }

    fn run_state(&self, work: &mut Scribe<'_, '_>) -> Result<()> {
        let to = self.bundle.carried.x_run.state;
        if to == RunState::Submitted {
            return Ok(());
        }
        let run_id = self.run_id.clone();
        let moved = Change::RunMoved { run_id, from: RunState::Submitted, to, result: None };
        work.change(&self.about, &format!("Run is {}", to.as_str()), &moved)?;
        Ok(())
    }
}

fn heard(row: &HandoffRow) -> Option<Timestamp> {
    row.last_heartbeat_at.as_deref().and_then(parse_utc)
}

/// A moment on another machine: as long ago on this one's boot clock as it is by the wall clock.
fn elsewhere(now: &Now, at: Timestamp) -> Now {
    let ago = now.at.millis().saturating_sub(at.millis());
    let millis = now.boot.millis.saturating_sub(ago);
    Now { at, boot: BootTime { boot_id: now.boot.boot_id.clone(), millis } }
}
