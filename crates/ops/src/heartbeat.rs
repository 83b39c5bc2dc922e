//! A worker's heartbeat.

use std::time::Duration;

use contract::domain::crew::lock::lease;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::time::{Now, Timestamp};
use contract::operator::Code;
use contract::operator::fencing::Refused;
use serde::{Deserialize, Serialize};
use store::Store;

use crate::context::Context;
use crate::crew::denial::{deny, refused};
use crate::crew::sheet::{find_task, reference};
use crate::error::Result;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    pub token: i64,
    /// What the worker's clock says. It is only looked at, never believed.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub task_id: String,
    pub token: i64,
    pub last_heartbeat_at: Timestamp,
    /// Silent for longer, the worker is taken to be dead.
    pub timeout_ms: u64,
}

/// Renews the lease of a task's locks. A row update, no event. One that comes too late revives nothing.
pub fn heartbeat(cx: &mut Context, request: &Request) -> Result<Answer> {
    let now = cx.now();
    beat(&mut cx.store, &now, request)
}

/// The same on a store that another thread has opened.
pub(crate) fn beat(store: &mut Store, now: &Now, request: &Request) -> Result<Answer> {
    let name = reference(&request.task)?;
    if request.at.is_some_and(|at| at.since(now.at) > limits::CLOCK_SKEW_MAX) {
        let message = format!("more than {} s ahead of now", limits::CLOCK_SKEW_MAX.as_secs());
        return Err(deny(Code::SchemaInvalid, "heartbeat_in_future", message));
    }
    let tx = store.begin()?;
    let (_, task) = find_task(&tx, &request.run, &name)?;
    let held = tx.locks_of_task(&task.id)?;
    contract::domain::crew::lock::admit(&held, request.token, now).map_err(refused)?;
    if task.status != Status::InProgress {
        return Err(refused(Refused::StaleToken));
    }
    let timeout_ms = held.iter().find(|lock| lock.token == request.token).map_or(0, |lock| lock.timeout_ms);
    tx.renew_locks(request.token, &lease(now, Duration::from_millis(timeout_ms)))?;
    tx.record_heartbeat(&task.id, now)?;
    tx.commit()?;
    Ok(Answer { task_id: name.to_string(), token: request.token, last_heartbeat_at: now.at, timeout_ms })
}
