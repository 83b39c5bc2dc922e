//! The claims of an agent, and its focus.

use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, TaskId};
use contract::domain::time::Lease;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Leave;

impl Verb for Leave {
    const NAME: &'static str = "agent.leave";
    const COMMAND: &'static str = "";
    const SUMMARY: &'static str = "Release every claim of an agent that ends its session";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(leave);
}

/// The caller is all that matters.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Tasks that others may take now.
    pub released: Vec<String>,
}

/// An agent that turns to one task gives back those it has not begun.
pub(crate) fn turn_to(work: &mut EventWriter<'_, '_>, chosen: Option<&TaskId>) -> Result<()> {
    let agent = work.caller.agent.clone();
    for mut task in work.tx.claimed_by(agent.as_str(), work.now)? {
        if task.status == Status::Todo && Some(&task.id) != chosen {
            let command = Command::Release { agent: agent.clone() };
            crate::task::carry_out(work, &mut task, &command, "Claim given back")?;
        }
    }
    Ok(())
}

/// The body of a focus change.
pub(crate) fn focus_message(task: Option<&TaskId>) -> String {
    task.map_or_else(|| "Focus cleared".to_owned(), |task| format!("Focus set: {task}"))
}

/// Gives back every claim of an agent that ends its session.
pub fn leave(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    cx.once(session, Leave::NAME, request, |work| {
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

/// The task an agent looks at, if there is one.
pub fn focus(cx: &mut Context, agent: &Agent) -> Result<Option<Task>> {
    let tx = cx.store.read()?;
    let id = tx.focus_of(agent.as_str())?.and_then(|id| Id::parse(&id).ok());
    Ok(id.map(|id| tx.task(&id)).transpose()?.flatten())
}

/// A sign of life: everything the caller holds stays held for another lease. A row update, no event.
pub fn renew(cx: &mut Context, caller: &Caller) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let lease = Lease::starting(&now, limits::CLAIM_LEASE);
    tx.renew_claims(caller.agent.as_str(), caller.holder.as_ref(), &now, &lease)?;
    Ok(tx.commit()?)
}
