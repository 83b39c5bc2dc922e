//! Lists events, newest first.

use contract::continuity::EventView;
use contract::continuity::event::stored_kinds;
use contract::domain::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{EventFilter, LoggedEvent};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "event.list";
    const COMMAND: &'static str = "events list";
    const SUMMARY: &'static str = "List events, newest first";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(list);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only events of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only events of this task.
    #[serde(default)]
    pub task_id: Option<String>,
    /// Only events of this kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Only events with this correlation.
    #[serde(default)]
    pub corr: Option<String>,
    /// Only events after this number.
    #[serde(default)]
    pub since_id: i64,
    /// Oldest first.
    #[serde(default)]
    pub ascending: bool,
    /// Also archived events, which a summary replaced.
    #[serde(default)]
    pub include_archived: bool,
    /// Leave out claims and other bookkeeping, which the agent contract's original does not have; a kind that is
    /// named is never left out.
    #[serde(default)]
    pub without_bookkeeping: bool,
    #[serde(default)]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub events: Vec<EventView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since_id: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn list(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let task_id = request.task_id.as_deref().map(|task| cx.any_task_id(session, task)).transpose()?;
    let request = &Request { task_id, ..request.clone() };
    let events: Vec<EventView> = events(cx, request)?.iter().map(super::view).collect();
    Ok(Answer {
        count: events.len(),
        events,
        agent: request.agent.clone(),
        task_id: request.task_id.clone(),
        kind: request.kind.clone(),
        since_id: request.since_id,
    })
}

/// The events themselves, newest first unless asked otherwise. The limit is bounded whatever was asked.
pub fn events(cx: &mut Context, request: &Request) -> Result<Vec<LoggedEvent>> {
    let asked = request.limit.filter(|&limit| limit > 0).unwrap_or(limits::LIST_ROWS_DEFAULT);
    let filter = EventFilter {
        agent: request.agent.clone(),
        task_id: request.task_id.clone(),
        own: false,
        kinds: request.kind.as_deref().map(stored_kinds).unwrap_or_default(),
        without_bookkeeping: request.without_bookkeeping && request.kind.is_none(),
        corr: request.corr.clone(),
        after_id: request.since_id,
        without_archived: !request.include_archived,
        oldest_first: request.ascending,
        limit: asked.min(limits::LIST_ROWS_MAX),
    };
    Ok(cx.store.read()?.events(&filter)?)
}
