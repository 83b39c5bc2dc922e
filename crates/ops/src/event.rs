//! The event log: reading it, and recording events of agents.

pub mod confined;
pub mod list;
pub mod note;
pub(crate) mod target;

use contract::aee::{Envelope, Type};
use contract::continuity::EventView;
use contract::continuity::event::{Printed, StoredEvent, printed};
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::time::Timestamp;
use contract::json::{Map, Value};
use store::{EventFilter, LoggedEvent};

use crate::context::Context;
use crate::error::Result;

/// An event as the agent contract shows it.
pub fn view(event: &LoggedEvent) -> EventView {
    let record = &event.record;
    let Printed { kind, message, metadata } = printed(&StoredEvent {
        kind: &record.kind,
        message: &record.message,
        payload: &record.payload,
        is_change: record.is_change,
        is_ours: !record.intent.starts_with("agent."),
    });
    EventView {
        id: event.id,
        kind,
        agent_name: record.agent.clone(),
        project_id: record.project_id.clone(),
        task_id: record.task_id.clone().unwrap_or_default(),
        message,
        metadata,
        created_at: Timestamp::from_millis(record.at).to_string(),
    }
}

/// An event as the AEE envelope it is.
pub fn envelope(event: &LoggedEvent) -> Envelope {
    let record = &event.record;
    let object = |value: &Value| value.as_object().cloned();
    Envelope {
        id: record.event_id.clone(),
        ts: Timestamp::from_millis(record.at).to_string(),
        kind: Type::parse(&record.r#type).unwrap_or(Type::Event),
        from: record.from.clone(),
        to: record.to.clone(),
        intent: record.intent.clone(),
        corr: record.corr.clone(),
        reply_to: record.reply_to.clone(),
        trace: None,
        priority: Priority::parse(&record.priority).unwrap_or_default(),
        requires: record.requires.as_ref().and_then(object),
        payload: payload_of(&record.payload),
        sig: None,
        extra: extra_of(record.steps_back_ms),
    }
}

/// AEE ignores fields it does not know and passes them on.
fn extra_of(steps_back_ms: Option<i64>) -> Map<String, Value> {
    steps_back_ms.map(|back| ("x_steps_back_ms".to_owned(), Value::from(back))).into_iter().collect()
}

/// An envelope's payload is an object; the metadata of an agent's event may be any JSON.
fn payload_of(payload: &Value) -> Map<String, Value> {
    match payload {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("metadata".to_owned(), other.clone())]),
    }
}

/// Everything that happened under one correlation, oldest first, in pages of the list limit.
pub fn by_corr(cx: &mut Context, corr: &str) -> Result<Vec<LoggedEvent>> {
    let mut events = Vec::new();
    let tx = cx.store.read()?;
    loop {
        let after_id = events.last().map_or(0, |event: &LoggedEvent| event.id);
        let page = tx.events(&EventFilter {
            corr: Some(corr.to_owned()),
            after_id,
            oldest_first: true,
            limit: limits::LIST_ROWS_MAX,
            ..EventFilter::default()
        })?;
        let full = page.len() == limits::LIST_ROWS_MAX;
        events.extend(page);
        if !full {
            return Ok(events);
        }
    }
}

/// One event by the id of its envelope.
pub fn by_event_id(cx: &mut Context, id: &str) -> Result<Option<LoggedEvent>> {
    Ok(cx.store.read()?.event_by_id(id)?)
}
