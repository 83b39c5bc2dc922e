//! Releases the locks that a task holds outside an assignment.

use contract::domain::crew::lock::LockRefusal;
use contract::domain::crew::token::LockToken;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::crew::denial::{deny, refused};
use crate::crew::grants;
use crate::crew::ledger_state::{find_task, reference};
use crate::crew::token;
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Release;

impl Verb for Release {
    const NAME: &'static str = "lock.release";
    const COMMAND: &'static str = "lock release";
    const SUMMARY: &'static str = "Release the locks of a task";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(release);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// The token that `lock.acquire` returned.
    pub token: LockToken,
    /// Why, for the log.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The number of the token.
    pub token: i64,
    pub released: Vec<String>,
}

pub fn release(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    let reason = crate::task::reason(request.reason.as_deref())?;
    cx.once(session, Release::NAME, request, |work| {
        let (_, task) = find_task(work.tx, &request.run, &name)?;
        let held = work.tx.locks_of_task(&task.id)?;
        let token = token::genuine(work.tx, &task.id, request.token)?;
        let own = held.iter().find(|lock| lock.token == token);
        let own = own.ok_or_else(|| refused(LockRefusal::StaleToken))?;
        let is_assigned = work.tx.assignment(own.token)?.is_some_and(|open| open.ended.is_none());
        if is_assigned || work.tx.has_open_attempt(&task.id)? {
            let message = format!("a worker or an engine is working on {name}; its locks are released when it ends, or by a sweep");
            return Err(deny(Code::NonCompliant, "lock_of_assignment", message));
        }
        if let Some(holder) = &own.holder {
            let message = format!("the engine with process {} works under the locks of {name}", holder.pid);
            return Err(deny(Code::NonCompliant, "lock_of_engine", message)
                .hint("a sweep releases them when nothing of that engine is left; a person can use `--force`"));
        }
        grants::release(work, own, reason.as_deref().unwrap_or("released"))?;
        let released = held.iter().filter(|lock| lock.token == token);
        Ok(Answer { token: own.token, released: released.map(|lock| lock.scope.to_string()).collect() })
    })
}
