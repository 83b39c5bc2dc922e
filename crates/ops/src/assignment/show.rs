//! Shows the last assignment of a task.

use contract::domain::crew::snapshot::Snapshot;
use contract::domain::time::Timestamp;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Context;
use crate::crew::denial::deny;
use crate::crew::ledger_state::{find_task, reference};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "assignment.show";
    const COMMAND: &'static str = "assignment show";
    const SUMMARY: &'static str = "Show the last assignment of a task";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| show(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// How it ended; `null` while it is open.
    pub ended: Option<String>,
    pub issued_at: Timestamp,
    pub packet: Value,
    /// The files in scope before the worker began.
    pub snapshot: Option<Snapshot>,
    pub token: i64,
}

pub fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let name = reference(&request.task)?;
    let tx = cx.store.read()?;
    let (_, task) = find_task(&tx, &request.run, &name)?;
    let issued = tx
        .last_assignment(&task.id)?
        .ok_or_else(|| deny(Code::MissingRequiredInput, "missing", format!("{name} was never assigned")))?;
    Ok(Answer {
        ended: issued.ended,
        issued_at: issued.issued_at,
        packet: issued.packet,
        snapshot: issued.snapshot,
        token: issued.token,
    })
}
