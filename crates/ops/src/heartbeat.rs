//! A worker's heartbeat.

use std::time::Duration;

use contract::domain::crew::lock::{LockRefusal, lease};
use contract::domain::crew::token::LockToken;
use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::{Clock, Timestamp};
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Store, Tx};

use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::crew::ledger_state::{find_task, reference};
use crate::crew::token;
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Send;

impl Verb for Send {
    const NAME: &'static str = "heartbeat.send";
    const COMMAND: &'static str = "heartbeat";
    const SUMMARY: &'static str = "Send a worker's heartbeat";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(send);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// The token of the assignment. The program that an engine runs for the task needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<LockToken>,
    /// The worker's clock. It is checked, and otherwise not used.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task_id: String,
    /// The number of the token; 0 without one.
    pub token: i64,
    pub last_heartbeat_at: Timestamp,
    /// Without a heartbeat for longer than this, the task times out. 0 where its engine decides.
    pub timeout_ms: u64,
}

/// Renews the lease of a task's locks. Updates rows and appends no event. A heartbeat after the timeout is refused.
pub fn send(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    match request.token {
        Some(token) => beat(&mut cx.store, &*cx.clock, request, |tx, task| token::genuine(tx, task, token)),
        None => sign_of_life(cx, session, request),
    }
}

/// The heartbeat of the program that an engine runs for the task.
fn sign_of_life(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let name = reference(&request.task)?;
    let (_, task) = find_task(&cx.store.read()?, &request.run, &name)?;
    let Some(attempt) = crate::task::calling_attempt(cx, session, task.id.as_str())? else {
        return Err(Error::required("token").hint("`writ assignment issue` printed it"));
    };
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    tx.heartbeat(&attempt, now.at)?;
    tx.commit()?;
    Ok(Answer { task_id: name.to_string(), token: 0, last_heartbeat_at: now.at, timeout_ms: 0 })
}

/// The same on a store that a second thread opened. `number` gives the number of the token, or refuses it.
pub(crate) fn beat(
    store: &mut Store,
    clock: &dyn Clock,
    request: &Request,
    number: impl FnOnce(&Tx<'_>, &TaskId) -> Result<i64>,
) -> Result<Answer> {
    let name = reference(&request.task)?;
    let tx = store.begin()?;
    let now = &clock.now();
    if request.at.is_some_and(|at| at.since(now.at) > limits::CLOCK_SKEW_MAX) {
        let message = format!("at is more than {} s ahead of now", limits::CLOCK_SKEW_MAX.as_secs());
        return Err(deny(Code::SchemaInvalid, "heartbeat_in_future", message));
    }
    let (_, task) = find_task(&tx, &request.run, &name)?;
    let (held, token) = (tx.locks_of_task(&task.id)?, number(&tx, &task.id)?);
    contract::domain::crew::lock::admit(&held, token, now)
        .map_err(|fault| token::not_admitted(&task, fault))?;
    if task.status != Status::InProgress {
        return Err(token::not_admitted(&task, LockRefusal::StaleToken));
    }
    let timeout_ms = held.iter().find(|lock| lock.token == token).map_or(0, |lock| lock.timeout_ms);
    tx.renew_locks(token, &lease(now, Duration::from_millis(timeout_ms)))?;
    tx.record_heartbeat(&task.id, now)?;
    tx.commit()?;
    Ok(Answer { task_id: name.to_string(), token, last_heartbeat_at: now.at, timeout_ms })
}
