//! What an agent holds.

use contract::domain::task::Command;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Given;

/// Nothing is asked beyond who asks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Tasks that others may take now.
    pub released: Vec<String>,
}

/// Gives back every claim of an agent that ends its session.
pub fn leave(cx: &mut Context, key: &Key, request: &Request) -> Result<Given<Answer>> {
    cx.once(key, "agent.leave", request, |work| {
        let agent = work.caller.agent.clone();
        let mut released = Vec::new();
        for mut task in work.tx.claimed_by(agent.as_str(), work.now)? {
            let command = Command::Release { agent: agent.clone() };
            crate::task::carry_out(work, &mut task, &command, "Claim given back")?;
            released.push(task.id.to_string());
        }
        Ok(Answer { released })
    })
}
