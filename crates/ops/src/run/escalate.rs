//! Changes the priority of a task in a run.

mod effect;

use contract::aop::event::{Body, PriorityEscalation};
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::priority::Priority;
use contract::domain::run::{DocumentKind, Run, RunId};
use contract::domain::task::{PlanPart, Task, TaskId, apply};
use contract::plan::upgrade::Upgrades;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use effect::{counts_from, next_model, waits_for, warning};

pub use effect::{CountsFrom, NextModel};

use crate::aop_event::{self, AopEvent};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Escalate;

impl Verb for Escalate {
    const NAME: &'static str = "task.escalate";
    const COMMAND: &'static str = "escalate";
    const SUMMARY: &'static str = "Change the priority of a task in a run";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(escalate);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task: its id, a unique prefix of it, its id in a plan, or its `T-n`.
    pub task: String,
    /// Default: critical.
    #[serde(default = "critical")]
    pub to: Priority,
    /// Why, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn critical() -> Priority {
    Priority::Critical
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task_id: TaskId,
    pub run_id: RunId,
    /// The task's id in its plan.
    pub name: String,
    pub old_priority: Priority,
    pub new_priority: Priority,
    pub counts_from: CountsFrom,
    pub model: NextModel,
    /// Tasks that have to be done before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The event of the change; none if the priority is what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<i64>,
}

pub fn escalate(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let id = cx.task_id(session, &request.task)?;
    refuse_own(cx, session, &id)?;
    let upgrades = upgrades(cx, &id)?;
    cx.once_viewing(session, Escalate::NAME, request, |work| {
        let mut task = crate::task::required(work.tx, &id)?;
        let part = part_of(&task)?.clone();
        let run = super::required(work.tx, &part.run_id)?;
        refuse_others(&run, &task)?;
        let old = Priority::from_number(task.priority);
        let event_id = if old == request.to {
            None
        } else {
            Some(record(work, &mut task, (old, request.to), reason.as_deref())?)
        };
        Ok(Answer {
            task_id: task.id.clone(),
            run_id: part.run_id.clone(),
            old_priority: old,
            new_priority: request.to,
            counts_from: counts_from(work, &run, &task)?,
            model: next_model(work, &upgrades, (&task, &part.spec), request.to)?,
            waits_for: waits_for(work, &task)?,
            warnings: warning(old, request.to).into_iter().collect(),
            event_id,
            name: part.spec.id,
        })
    })
}

/// Priority is not a task's to grant: neither to itself nor to those that it runs beside.
fn refuse_own(cx: &mut Context, session: &Session, id: &str) -> Result<()> {
    let Some(attempt) = &*session.origin.attempt else { return Ok(()) };
    let tx = cx.store.read()?;
    let run_of = |id: &TaskId| -> Result<Option<RunId>> {
        Ok(tx.task(id)?.and_then(|task| task.part).map(|part| part.run_id))
    };
    let Some(caller) = tx.task_of_attempt(attempt)? else { return Ok(()) };
    let named = TaskId::parse(id).ok().map(|id| run_of(&id)).transpose()?.flatten();
    if named.is_none() || run_of(&caller)? != named {
        return Ok(());
    }
    let message = "the program of a task cannot change the priority of tasks in its own run";
    Err(Error::new(ErrorCode::Denied, message).hint("call `writ escalate` from outside the run"))
}

/// The models that are configured for escalated tasks.
fn upgrades(cx: &mut Context, id: &str) -> Result<Upgrades> {
    let tx = cx.store.read()?;
    let task = TaskId::parse(id).ok().map(|id| tx.task(&id)).transpose()?.flatten();
    let run = task.and_then(|task| task.part).map(|part| super::required(&tx, &part.run_id)).transpose()?;
    drop(tx);
    let Some(run) = run else { return Ok(Upgrades::default()) };
    Ok(cx.host().executors(&run.asked.workspace)?.upgrades)
}

fn part_of(task: &Task) -> Result<&PlanPart> {
    task.part.as_ref().ok_or_else(|| {
        Error::new(ErrorCode::WrongState, "the task is not part of a run")
            .hint("`writ task set-priority` changes its priority")
    })
}

fn refuse_others(run: &Run, task: &Task) -> Result<()> {
    if run.asked.kind == DocumentKind::Ledger {
        return Err(Error::new(ErrorCode::WrongState, "the task is a row of a crew's ledger")
            .hint("`writ ledger apply` changes the row"));
    }
    if task.status.is_terminal() {
        let message = format!("the task is {} already", task.status);
        return Err(Error::new(ErrorCode::WrongState, message).details(json!({"status": task.status})));
    }
    Ok(())
}

/// Writes the change and the event of the contract.
fn record(
    work: &mut EventWriter<'_, '_>,
    task: &mut Task,
    (old, new): (Priority, Priority),
    reason: Option<&str>,
) -> Result<i64> {
    let about = crate::task::about(work.tx, task)?;
    let changed = Change::TaskPrioritized { task_id: task.id.clone(), priority: new.number() };
    let event_id = work.change(&about, &format!("Priority changed from {old} to {new}"), &changed)?;
    apply(task, &changed, work.now.at);
    let escalated_by = work.caller.entity.clone();
    let told = match reason {
        Some(reason) => format!("{old} to {new} by {escalated_by}: {reason}"),
        None => format!("{old} to {new} by {escalated_by}"),
    };
    let reason = reason.unwrap_or("escalated with `writ escalate`").to_owned();
    let body = PriorityEscalation { old_priority: old, new_priority: new, reason, escalated_by };
    let event = AopEvent { body: Body::PriorityEscalation(body), told, more: json!({}) };
    aop_event::say(work, task, event)?;
    Ok(event_id)
}
