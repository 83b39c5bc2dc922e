//! Prolongs a lease. Whoever was silent for too long is not revived by saying so late.

use std::time::Duration;

use contract::domain::crew::lock::lease;
use contract::domain::time::Lease;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    pub token: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub token: i64,
    pub lease: Lease,
}

/// A row update, no event: doing it twice is the same as doing it once.
pub fn renew(cx: &mut Context, request: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    let tx = cx.store.begin()?;
    let held = super::admitted(&tx, &request.run, &request.task, request.token, &now)?;
    let timeout = held.iter().find(|lock| lock.token == request.token).map_or(0, |lock| lock.timeout_ms);
    let lease = lease(&now, Duration::from_millis(timeout));
    tx.renew_locks(request.token, &lease)?;
    tx.commit()?;
    Ok(Answer { token: request.token, lease })
}
