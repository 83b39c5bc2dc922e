//! Reading the event log.

use contract::aee::Envelope;
use contract::continuity::EventView;
use contract::domain::limits;
use contract::domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use store::{Event, EventFilter};

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub task_id: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub corr: Option<String>,
    #[serde(default)]
    pub since_id: i64,
    #[serde(default)]
    pub ascending: bool,
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Events that fit, newest first unless asked otherwise. The limit is bounded whatever was asked.
pub fn list(cx: &mut Context, request: &Request) -> Result<Vec<Event>> {
    let asked = request.limit.filter(|&limit| limit > 0).unwrap_or(limits::LIST_ROWS_DEFAULT);
    let filter = EventFilter {
        agent: request.agent.clone(),
        task_id: request.task_id.clone(),
        kind: request.kind.clone(),
        corr: request.corr.clone(),
        after_id: request.since_id,
        oldest_first: request.ascending,
        limit: asked.min(limits::LIST_ROWS_MAX),
    };
    Ok(cx.store.read()?.events(&filter)?)
}

/// An event as the agent contract shows it.
pub fn view(event: &Event) -> EventView {
    let record = &event.record;
    EventView {
        id: event.id,
        kind: record.kind.clone(),
        agent_name: record.agent.clone(),
        project_id: record.project_id.clone(),
        task_id: record.task_id.clone().unwrap_or_default(),
        message: record.message.clone(),
        metadata: record.payload.clone(),
        created_at: Timestamp::from_millis(record.at).to_string(),
    }
}
