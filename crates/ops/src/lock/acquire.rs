//! Takes locks for a task, all or none. A lock of another task is never taken over, even after its lease expired.

use std::time::Duration;

use contract::domain::crew::lock::{Grant, LockMode, WantedLock, admit};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::LockToken;
use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::Lease;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::crew::conflict;
use crate::crew::denial::deny;
use crate::crew::grants::{self, LockRequest};
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::paths::real_scopes;
use crate::crew::token;
use crate::error::Result;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Acquire;

impl Verb for Acquire {
    const NAME: &'static str = "lock.acquire";
    const COMMAND: &'static str = "lock acquire";
    const SUMMARY: &'static str = "Take locks for a task, all or none";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(acquire);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's UUID or id.
    pub run: String,
    /// The task, such as `T-12`.
    pub task: String,
    /// Files, and directories with everything in them.
    pub resources: Vec<String>,
    /// Take shared locks: other tasks may hold shared locks on the same resources.
    #[serde(default)]
    pub shared: bool,
    /// The lease: how long the holder may go without a heartbeat. Default: the timeout of the task's row.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    /// The token of the locks that the task holds; required while their lease lasts, because a new grant replaces them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<LockToken>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Renewing and releasing need it. It is not stored, and shown only here.
    pub token: LockToken,
    pub run_id: RunId,
    pub task_id: TaskId,
    pub reference: TaskRef,
    /// An absolute path; the scopes are relative to it.
    pub workspace: String,
    pub scopes: Vec<WantedLock>,
    /// A holder that sends no heartbeat for longer than this is considered dead.
    pub timeout_ms: u64,
    pub lease: Lease,
}

impl From<Grant> for Answer {
    fn from(grant: Grant) -> Self {
        let Grant { token, run_id, task_id, reference, workspace, scopes, timeout_ms, lease, .. } = grant;
        Self { token: token.into(), run_id, task_id, reference, workspace, scopes, timeout_ms, lease }
    }
}

pub fn acquire(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    let mut reply = cx.once_viewing(session, Acquire::NAME, request, |work| {
        let view = work.view;
        let state = LedgerState::of(work.tx, &request.run)?;
        let (task, row) = (state.task(&name)?, state.row(&name)?);
        if !matches!(task.status, Status::Todo | Status::InProgress) {
            let message =
                format!("{name} is {}; only a task in `todo` or `in_progress` can take locks", task.status);
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        if work.tx.has_open_attempt(&task.id)? {
            let message = format!("an engine is running {name} and holds its locks");
            return Err(deny(Code::ConcurrencyConflict, "already_assigned", message));
        }
        if work.tx.last_assignment(&task.id)?.is_some_and(|open| open.ended.is_none()) {
            let message = format!("{name} is assigned; its assignment holds its locks");
            return Err(deny(Code::ConcurrencyConflict, "already_assigned", message));
        }
        refuse_stranger(work, task, request.token)?;
        let root = &state.run.asked.workspace;
        let mode = if request.shared { LockMode::Shared } else { LockMode::Exclusive };
        let scopes = real_scopes(view, root, &request.resources)?;
        let timeout = request.timeout_seconds.or(row.columns.timeout_seconds);
        let timeout = timeout.map_or(limits::CLAIM_LEASE, Duration::from_secs);
        let asked = LockRequest {
            run: &state.run,
            task,
            reference: &name,
            scopes: scopes.into_iter().map(|scope| WantedLock { scope, mode }).collect(),
            timeout: timeout.min(limits::TASK_TIMEOUT_MAX),
            fold: view.folds_case(root)?,
            holder: None,
        };
        let granted = grants::acquire(work, asked)?;
        let grant = granted.map_err(|conflict| conflict::refusal(&state.run, &name, &conflict))?;
        Ok(Answer::from(grant))
    })?;
    // The stored answer has only the number.
    let answer = &mut reply.answer;
    answer.token = token::proved(&cx.store.read()?, &answer.task_id, answer.token.number)?;
    Ok(reply)
}

/// A new grant replaces the locks that the task holds, so only their holder may ask for one while its lease lasts.
fn refuse_stranger(work: &EventWriter<'_, '_>, task: &Task, given: Option<LockToken>) -> Result<()> {
    let held = work.tx.locks_of_task(&task.id)?;
    if !held.iter().any(|lock| lock.active && lock.lease.is_live(work.now)) {
        return Ok(());
    }
    let Some(given) = given else {
        let message = "the task holds locks that a new grant would replace, so token is required";
        return Err(deny(Code::MissingRequiredInput, "missing", message).hint(
            "give the token of those locks, or wait until they are released; `writ lock list` shows them",
        ));
    };
    let number = token::genuine(work.tx, &task.id, given)?;
    admit(&held, number, work.now).map_err(|fault| token::not_admitted(task, fault))
}
