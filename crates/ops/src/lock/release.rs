//! Gives back what a task holds outside an assignment.

use contract::operator::Code;
use contract::operator::fencing::Refused;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::crew::denial::{deny, refused};
use crate::crew::grants;
use crate::crew::sheet::{find_task, reference};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    pub token: i64,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub token: i64,
    pub released: Vec<String>,
}

pub fn release(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    let reason = crate::task::reason(request.reason.as_deref())?;
    cx.once(key, "lock.release", request, |work| {
        let (_, task) = find_task(work.tx, &request.run, &name)?;
        let held = work.tx.locks_of_task(&task.id)?;
        let own = held.iter().find(|lock| lock.token == request.token);
        let own = own.ok_or_else(|| refused(Refused::StaleToken))?;
        let is_given_out = work.tx.assignment(own.token)?.is_some_and(|open| open.ended.is_none());
        if is_given_out || work.tx.has_open_attempt(&task.id)? {
            let message = format!("{name} is being worked on; its end or a sweep gives its locks back");
            return Err(deny(Code::NonCompliant, "lock_of_assignment", message));
        }
        grants::release(work, own, reason.as_deref().unwrap_or("released"))?;
        let released = held.iter().filter(|lock| lock.token == request.token);
        Ok(Answer { token: own.token, released: released.map(|lock| lock.scope.to_string()).collect() })
    })
}
