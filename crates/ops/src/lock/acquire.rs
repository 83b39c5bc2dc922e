//! Takes locks for a task: all of a scope or nothing. Never takes over what another holds, expired or not.

use std::time::Duration;

use contract::domain::crew::lock::{Grant, Wanted};
use contract::domain::limits;
use contract::domain::status::Status;
use contract::operator::{Code, Mode};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::crew::grants::{self, LockRequest};
use crate::crew::paths::real_scopes;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    pub resources: Vec<String>,
    /// Others may hold them shared too.
    #[serde(default)]
    pub shared: bool,
    /// How long the holder may be silent; what the task's row says where nothing is said here.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(flatten)]
    pub grant: Grant,
}

pub fn acquire(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    cx.once_viewing(key, "lock.acquire", request, |work| {
        let view = work.view;
        let sheet = Sheet::of(work.tx, &request.run)?;
        let (task, row) = (sheet.task(&name)?, sheet.row(&name)?);
        if !matches!(task.status, Status::Todo | Status::InProgress) {
            let message = format!("{name} is {}; only a task that is to be done holds locks", task.status);
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        if work.tx.has_open_attempt(&task.id)? {
            let message = format!("{name} is being executed; its locks are those of its engine");
            return Err(deny(Code::ConcurrencyConflict, "already_assigned", message));
        }
        if work.tx.last_assignment(&task.id)?.is_some_and(|open| open.ended.is_none()) {
            let message = format!("{name} is given out; its locks are those of its assignment");
            return Err(deny(Code::ConcurrencyConflict, "already_assigned", message));
        }
        let root = &sheet.run.asked.workspace;
        let mode = if request.shared { Mode::Shared } else { Mode::Exclusive };
        let scopes = real_scopes(view, root, &request.resources)?;
        let timeout = request.timeout_seconds.or(row.columns.timeout_seconds);
        let timeout = timeout.map_or(limits::CLAIM_LEASE, Duration::from_secs);
        let asked = LockRequest {
            run: &sheet.run,
            task,
            reference: &name,
            scopes: scopes.into_iter().map(|scope| Wanted { scope, mode }).collect(),
            timeout: timeout.min(limits::TASK_TIMEOUT_MAX),
            fold: view.folds_case(root)?,
        };
        let granted = grants::acquire(work, asked)?;
        let grant = granted.map_err(|obstacle| grants::conflict(&sheet.run, &name, &obstacle))?;
        Ok(Answer { grant })
    })
}
