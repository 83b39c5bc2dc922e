//! Makes a task that failed, was canceled or is parked ready again.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::run::{DocumentKind, Run, RunId, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, TransitionRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Retry;

impl Verb for Retry {
    const NAME: &'static str = "task.retry";
    const COMMAND: &'static str = "retry";
    const SUMMARY: &'static str = "Make a failed, canceled or parked task of a run ready again";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(retry);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task: its id, a unique prefix of it, its id in a plan, or its `T-n`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Instead of one task, every failed, canceled or parked task of this run; `@last` for the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub run_id: RunId,
    /// The task and everything that was skipped because of it.
    pub reset: Vec<String>,
}

/// What is to be retried, by id.
enum RetryTarget {
    Task(String),
    Run(String),
}

/// Resets the task and the tasks that were skipped because of it, and reopens their run. Done tasks stay done.
pub fn retry(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let target = match (&request.task_id, &request.run) {
        (Some(task), None) => RetryTarget::Task(cx.task_id(session, task)?),
        (None, Some(run)) => RetryTarget::Run(cx.run_id_once(session, run)?),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Error::new(ErrorCode::InvalidInput, "name a task or a run to retry, and not both"));
        }
    };
    cx.once_viewing(session, Retry::NAME, request, |work| {
        let (run_id, first) = match &target {
            RetryTarget::Run(id) => (super::find(work.tx, id)?.asked.id, None),
            RetryTarget::Task(id) => {
                let task = crate::task::required(work.tx, id)?;
                (run_of(work, &task)?, Some(task))
            }
        };
        let run = super::required(work.tx, &run_id)?;
        if run.asked.kind == DocumentKind::Ledger {
            return Err(Error::new(ErrorCode::WrongState, "the task is a row of a crew's ledger")
                .hint("`writ ledger apply` brings a blocked row back; failed and canceled ones are final"));
        }
        if super::is_worked_by_another(&run, work.now, work.view)? {
            return Err(Error::new(
                ErrorCode::HeldByAnother,
                "an engine is working this run; wait until it ends",
            ));
        }
        let tasks = work.tx.tasks_of_run(&run_id)?;
        let chosen = match &first {
            Some(first) => to_reset(tasks, first),
            None => tasks.into_iter().filter(can_be_retried).collect(),
        };
        if chosen.is_empty() {
            let message = format!("the run {} and has no failed, canceled or parked task", run.state.said());
            return Err(Error::new(ErrorCode::WrongState, message).details(json!({"state": run.state})));
        }
        let mut reset = Vec::new();
        for task in chosen {
            crate::rollback::refuse_meanwhile(work, &task)?;
            reset.push(task.id.to_string());
            move_to_todo(work, task)?;
        }
        reopen(work, &run)?;
        Ok(Answer { run_id, reset })
    })
}

fn can_be_retried(task: &Task) -> bool {
    matches!(task.status, Status::Failed | Status::Canceled | Status::Blocked)
}

/// The run of a task that can be retried.
fn run_of(work: &EventWriter<'_, '_>, task: &Task) -> Result<RunId> {
    let Some(part) = &task.part else {
        return Err(Error::new(ErrorCode::WrongState, "the task is not part of a run")
            .hint("begin it again with `writ task begin`"));
    };
    if !can_be_retried(task) {
        let message =
            format!("the task is {}; only a failed, canceled or parked one is retried", task.status);
        let error = Error::new(ErrorCode::WrongState, message).details(json!({"status": task.status}));
        let run = super::required(work.tx, &part.run_id)?;
        let is_interrupted = task.status == Status::InProgress
            && work.tx.has_open_attempt(&task.id)?
            && !super::is_worked_by_another(&run, work.now, work.view)?;
        let hint = format!("its engine ended; `writ run --continue {}` goes on", part.run_id);
        return Err(if is_interrupted { error.hint(hint) } else { error });
    }
    Ok(part.run_id.clone())
}

fn reopen(work: &mut EventWriter<'_, '_>, run: &Run) -> Result<()> {
    if run.state != RunState::Stopped {
        let run_id = run.asked.id.clone();
        let moved = Change::RunMoved { run_id, from: run.state, to: RunState::Stopped, result: None };
        let about = super::about(run);
        work.change(&about, "Run reopened for a retry", &moved)?;
    }
    Ok(())
}

/// The task and the canceled ones behind it, in the plan's order.
fn to_reset(tasks: Vec<Task>, first: &Task) -> Vec<Task> {
    let mut chosen = vec![first.id.clone()];
    loop {
        let more = tasks.iter().find(|task| {
            !chosen.contains(&task.id)
                && task.status == Status::Canceled
                && task.depends_on.iter().any(|needed| chosen.contains(needed))
        });
        match more {
            Some(task) => chosen.push(task.id.clone()),
            None => break,
        }
    }
    tasks.into_iter().filter(|task| chosen.contains(&task.id)).collect()
}

fn move_to_todo(work: &mut EventWriter<'_, '_>, mut task: Task) -> Result<()> {
    // Leaving a terminal state starts the task anew: the agent contract allows it, the operator's does not.
    let command = Command::Move {
        to: Status::Todo,
        reason: None,
        rules: TransitionRules::Continuity,
        verified: false,
        withheld: None,
        by: None,
        author: None,
    };
    let before = task.pinned.clone();
    crate::task::carry_out(work, &mut task, &command, "Task will be retried")?;
    // What an earlier attempt wrote is not what the checks were: they stay what they were before the first one.
    before.map_or(Ok(()), |files| crate::checking::pin(work, &task, &files))
}
