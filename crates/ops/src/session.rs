//! An agent's session: what happens when it is over.

use contract::domain::task::Command;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Given;
use crate::task;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Tasks that others may take now.
    pub released: Vec<String>,
}

/// Gives back every task the agent holds. The tasks stay as they are, so that whoever comes next goes on with them.
pub fn end(cx: &mut Context, key: &Key) -> Result<Given<Ended>> {
    cx.once(key, "session.end", &json!({}), |work| {
        let agent = work.caller.agent.clone();
        let mut released = Vec::new();
        for mut held in work.tx.claimed_by(agent.as_str(), work.now)? {
            let command = Command::Release { agent: agent.clone() };
            let made = task::carry_out(work, &mut held, &command, "Session ended")?;
            if !made.is_empty() {
                released.push(held.id.to_string());
            }
        }
        Ok(Ended { released })
    })
}
