//! Takes locks for a task, all or none. A lock of another task is never taken over, even after its lease expired.

use std::time::Duration;

use contract::domain::crew::lock::{Grant, Wanted};
use contract::domain::limits;
use contract::domain::status::Status;
use contract::operator::{Code, Mode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::crew::grants::{self, LockRequest};
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::paths::real_scopes;
use crate::error::Result;
use crate::once::Reply;
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(flatten)]
    pub grant: Grant,
}

pub fn acquire(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    cx.once_viewing(key, Acquire::NAME, request, |work| {
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
        let root = &state.run.asked.workspace;
        let mode = if request.shared { Mode::Shared } else { Mode::Exclusive };
        let scopes = real_scopes(view, root, &request.resources)?;
        let timeout = request.timeout_seconds.or(row.columns.timeout_seconds);
        let timeout = timeout.map_or(limits::CLAIM_LEASE, Duration::from_secs);
        let asked = LockRequest {
            run: &state.run,
            task,
            reference: &name,
            scopes: scopes.into_iter().map(|scope| Wanted { scope, mode }).collect(),
            timeout: timeout.min(limits::TASK_TIMEOUT_MAX),
            fold: view.folds_case(root)?,
            holder: None,
        };
        let granted = grants::acquire(work, asked)?;
        let grant = granted.map_err(|conflict| grants::refusal(&state.run, &name, &conflict))?;
        Ok(Answer { grant })
    })
}
