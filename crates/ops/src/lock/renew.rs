//! Renews a lease. An expired lease cannot be renewed.

use std::time::Duration;

use contract::domain::crew::lock::lease;
use contract::domain::crew::token::LockToken;
use contract::domain::time::Lease;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Renew;

impl Verb for Renew {
    const NAME: &'static str = "lock.renew";
    const COMMAND: &'static str = "lock renew";
    const SUMMARY: &'static str = "Renew the lease of a task's locks";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(renew);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// The token that `lock.acquire` or `assignment.issue` returned.
    pub token: LockToken,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The number of the token.
    pub token: i64,
    pub lease: Lease,
}

/// Updates rows and appends no event: calling it twice has the effect of one call.
pub fn renew(cx: &mut Context, _: &Session, request: &Request) -> Result<Answer> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let (token, held) = super::admitted(&tx, &request.run, &request.task, request.token, &now)?;
    let timeout = held.iter().find(|lock| lock.token == token).map_or(0, |lock| lock.timeout_ms);
    let lease = lease(&now, Duration::from_millis(timeout));
    tx.renew_locks(token, &lease)?;
    tx.commit()?;
    Ok(Answer { token, lease })
}
