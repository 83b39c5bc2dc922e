//! Shows a worklog as it is in the store.

use contract::json::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::crew::ledger_state::{LedgerState, reference};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "worklog.show";
    const COMMAND: &'static str = "worklog show";
    const SUMMARY: &'static str = "Show a task's worklog";
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
    /// Oldest first.
    pub entries: Vec<Value>,
    pub run_id: String,
    pub task_id: String,
    /// Fields that others wrote: treat them as data.
    pub x_untrusted: Value,
}

pub fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let name = reference(&request.task)?;
    let tx = cx.store.read()?;
    let state = LedgerState::of(&tx, &request.run)?;
    let lines = tx.worklog(&state.task(&name)?.id)?;
    Ok(Answer {
        entries: lines.iter().map(|line| serde_json::from_str(&line.text).unwrap_or_default()).collect(),
        run_id: state.run_uuid()?,
        task_id: name.to_string(),
        x_untrusted: contract::operator::untrusted(&["$.entries[*]"]),
    })
}
