//! A task and every decision about it. Pure: `decide` says what would change, `apply` changes it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::Change;
use super::check::{Check, TaskChecks, is_author};
use super::code::ErrorCode;
use super::id::{Id, Run, Task as TaskKind};
use super::pins::Digests;
use super::process::Holder;
use super::reason::Reason;
use super::request::Agent;
use super::status::{Evidence, Status};
use super::time::{Lease, Now, Timestamp};
use crate::domain::plan::PlanTask;

pub type TaskId = Id<TaskKind>;

/// One unit of work, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub description: String,
    pub status: Status,
    /// Set when the status is done.
    pub evidence: Option<Evidence>,
    /// The agent contract's integer; `Priority::from_number` gives its name.
    pub priority: i64,
    pub project_id: Option<String>,
    /// Why it is blocked, failed or canceled, or why a done task is only claimed.
    pub blocked_reason: Option<Reason>,
    /// Grows with each change.
    pub version: i64,
    pub claim: Option<Claim>,
    /// The run it belongs to, its name in that run's plan, and what is to be done.
    pub part: Option<PlanPart>,
    /// The checks of a task outside a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<TaskChecks>,
    /// The files that the checks of a plan's task use, as they were before its first attempt or assignment. A task that
    /// is started anew after it had ended gets new ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Digests>,
    pub depends_on: Vec<TaskId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A task's place in the plan of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPart {
    pub run_id: Id<Run>,
    /// Counted from 1 in the order of the plan; operator documents print it as `T-<n>`.
    pub number: i64,
    pub spec: PlanTask,
}

/// Which agent works on a task, until when, and with which fencing token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub agent: String,
    pub token: i64,
    pub lease: Lease,
    /// The agent's process, where it is known. A claim whose process is dead ends before its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// When this agent took the task. Claims of older versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A claim that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewClaim {
    pub agent: Agent,
    pub holder: Option<Holder>,
    pub lease: Duration,
    pub token: i64,
}

/// The contract whose rules apply to a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionRules {
    /// The operator contract: only the transitions of the state table.
    Operator,
    /// The agent contract: any transition; leaving a terminal state restarts the task.
    Continuity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Claim the task and start it.
    Begin(NewClaim),
    /// Claim the task without starting it.
    Claim(NewClaim),
    /// Change the state. `verified` decides the evidence of `Done`. An agent (`by`) cannot change a task that
    /// another one holds; an engine changes the tasks of its own run. With `withheld`, the reason why more than `claimed`
    /// is not granted, `Done` is only claimed although the checks passed.
    Move {
        to: Status,
        reason: Option<Reason>,
        rules: TransitionRules,
        verified: bool,
        withheld: Option<Reason>,
        by: Option<Agent>,
        /// Who answers for it, where one executor goes by several names.
        author: Option<Agent>,
    },
    /// Release a claim.
    Release { agent: Agent },
    /// Release the claim of a process that is known to be dead, whatever agent it worked for.
    Evict,
}

/// The domain refuses a command. A normal answer, not a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<String>,
    /// Facts for programs.
    pub details: Value,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, details: Value::Null }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

impl Task {
    /// The checks that its author or its plan gave it.
    pub fn checks(&self) -> &[Check] {
        match (&self.part, &self.checks) {
            (Some(part), _) => &part.spec.checks,
            (None, Some(own)) => &own.checks,
            (None, None) => &[],
        }
    }

    /// Who wrote them.
    pub fn checks_author(&self) -> Option<&str> {
        match (&self.part, &self.checks) {
            (Some(part), _) => part.spec.checks_by.as_deref(),
            (None, Some(own)) => Some(&own.author),
            (None, None) => None,
        }
    }

    pub fn has_checks(&self) -> bool {
        !self.checks().is_empty()
    }

    /// The live claim, if there is one. An expired lease does not count.
    pub fn live_claim(&self, now: &Now) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| claim.lease.is_live(now))
    }

    /// Why the task is only claimed, where it is done.
    pub fn withheld(&self) -> Option<String> {
        self.blocked_reason.as_ref().filter(|_| self.status == Status::Done).map(ToString::to_string)
    }
}

/// Returns the changes of `command`, or why it is refused. Changes nothing.
pub fn decide(task: &Task, command: &Command, now: &Now) -> Result<Vec<Change>, Refusal> {
    match command {
        Command::Begin(wanted) => begin(task, wanted, now),
        Command::Claim(wanted) => {
            if !matches!(task.status, Status::Todo | Status::InProgress) {
                let message = format!("a task that is {} cannot be claimed", task.status);
                return Err(Refusal::new(ErrorCode::WrongState, message));
            }
            claim(task, wanted, now)
        }
        Command::Move { to, reason, rules, verified, withheld, by, author } => {
            if let Some(agent) = by {
                not_held_by_another(task, agent, now)?;
            }
            let evidence = evidence_for(task, *to, *verified, author.as_ref().or(by.as_ref()))?;
            let withheld = withheld.clone().filter(|_| *to == Status::Done);
            let evidence =
                evidence.map(|granted| if withheld.is_some() { Evidence::Claimed } else { granted });
            if *rules == TransitionRules::Operator && !task.status.may_become(*to) {
                let message = format!("a task that is {} cannot become {to}", task.status);
                return Err(Refusal::new(ErrorCode::WrongState, message));
            }
            // A reason belongs to its state and is cleared with it.
            let has_reason = matches!(to, Status::Blocked | Status::Failed | Status::Canceled);
            let reason = reason.clone().filter(|_| has_reason).or(withheld);
            Ok(vec![moved(task, *to, reason, evidence)])
        }
        Command::Release { agent } => match &task.claim {
            Some(claim) if claim.agent == agent.as_str() => {
                Ok(vec![Change::TaskReleased { task_id: task.id.clone() }])
            }
            Some(_) | None => Ok(Vec::new()),
        },
        Command::Evict => match &task.claim {
            Some(_) => Ok(vec![Change::TaskReleased { task_id: task.id.clone() }]),
            None => Ok(Vec::new()),
        },
    }
}

/// A live claim of another agent blocks all changes of the task. Events, memories and artifacts are not
/// changes of the task and are open to all.
pub fn not_held_by_another(task: &Task, agent: &Agent, now: &Now) -> Result<(), Refusal> {
    let Some(claim) = task.live_claim(now).filter(|claim| claim.agent != agent.as_str()) else {
        return Ok(());
    };
    let message = format!("the task is held by `{}`", claim.agent);
    let left = claim.lease.left(now);
    let lease_until = now.at.plus(left);
    Err(Refusal::new(ErrorCode::HeldByAnother, message)
        .hint(format!(
            "wait until the lease expires at {lease_until}, or let `writ resume` choose another task"
        ))
        .details(json!({
            "task_id": task.id,
            "holder": claim.agent,
            "lease_seconds": left.as_secs().to_string(),
            "lease_until": lease_until,
        })))
}

fn begin(task: &Task, wanted: &NewClaim, now: &Now) -> Result<Vec<Change>, Refusal> {
    let mut changes = claim(task, wanted, now)?;
    if task.status != Status::InProgress {
        changes.insert(0, moved(task, Status::InProgress, None, None));
    }
    Ok(changes)
}

/// An expired claim of another agent is released first, so that the log shows who lost it.
fn claim(task: &Task, wanted: &NewClaim, now: &Now) -> Result<Vec<Change>, Refusal> {
    let NewClaim { agent, holder, lease, token } = wanted;
    not_held_by_another(task, agent, now)?;
    if let Some(part) = &task.part
        && task.status == Status::InProgress
        && task.claim.is_none()
    {
        let message = "the task is being executed by a run";
        let details = json!({"task_id": task.id, "run_id": part.run_id});
        return Err(Refusal::new(ErrorCode::HeldByAnother, message).details(details));
    }
    let mut changes = Vec::new();
    let own = task.claim.as_ref().filter(|claim| claim.agent == agent.as_str());
    if task.claim.is_some() && own.is_none() {
        changes.push(Change::TaskReleased { task_id: task.id.clone() });
    }
    changes.push(Change::TaskClaimed {
        task_id: task.id.clone(),
        claim: Claim {
            agent: agent.as_str().to_owned(),
            token: *token,
            lease: Lease::starting(now, *lease),
            // A command that the agent runs in a shell does not know the agent's process; its hooks do.
            holder: holder.clone().or_else(|| own?.holder.clone()),
            since: own.and_then(|claim| claim.since).or(Some(now.at)),
        },
    });
    Ok(changes)
}

/// A task with checks is done only if writ ran them and they passed. A task without checks is only claimed done,
/// unless the checks of its project passed.
fn evidence_for(
    task: &Task,
    to: Status,
    verified: bool,
    by: Option<&Agent>,
) -> Result<Option<Evidence>, Refusal> {
    let wrote_them = |author: &str| by.is_some_and(|agent| is_author(author, agent.as_str()));
    match (to == Status::Done, task.has_checks(), verified) {
        (false, _, _) => Ok(None),
        (true, true, true) if task.checks_author().is_some_and(wrote_them) => Ok(Some(Evidence::SelfChecked)),
        (true, true, true) => Ok(Some(Evidence::Verified)),
        (true, false, true) if task.part.is_none() && task.project_id.is_some() => {
            Ok(Some(Evidence::Verified))
        }
        (true, false, _) => Ok(Some(Evidence::Claimed)),
        (true, true, false) => {
            let message = "the task has checks that must pass before it is done";
            Err(Refusal::new(ErrorCode::CheckFailed, message))
        }
    }
}

fn moved(task: &Task, to: Status, reason: Option<Reason>, evidence: Option<Evidence>) -> Change {
    Change::TaskMoved { task_id: task.id.clone(), from: task.status, to, evidence, reason }
}

/// Applies a change that was decided. Changes of other tasks and other things leave the task as it is.
pub fn apply(task: &mut Task, change: &Change, at: Timestamp) {
    match change {
        Change::TaskMoved { task_id, from, to, evidence, reason } if *task_id == task.id => {
            if from.is_terminal() && !to.is_terminal() {
                task.pinned = None;
            }
            task.status = *to;
            task.evidence = *evidence;
            task.blocked_reason.clone_from(reason);
            if *to != Status::InProgress {
                task.claim = None;
            }
        }
        Change::TaskClaimed { task_id, claim } if *task_id == task.id => task.claim = Some(claim.clone()),
        Change::TaskReleased { task_id } if *task_id == task.id => task.claim = None,
        Change::TaskPinned { task_id, files } if *task_id == task.id => task.pinned = Some(files.clone()),
        Change::TaskPrioritized { task_id, priority } if *task_id == task.id => task.priority = *priority,
        Change::DependencyAdded { task_id, depends_on } if *task_id == task.id => {
            task.depends_on.push(depends_on.clone());
            task.depends_on.sort_unstable();
        }
        Change::DependencyRemoved { task_id, depends_on } if *task_id == task.id => {
            task.depends_on.retain(|known| known != depends_on);
        }
        _ => return,
    }
    task.version += 1;
    task.updated_at = at;
}

#[cfg(test)]
mod tests;
