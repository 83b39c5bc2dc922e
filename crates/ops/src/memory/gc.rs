//! Deletes expired memories. There is always an event, also when there was nothing to delete: it confirms the time to the
//! next call.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::limit::positive;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Gc;

impl Verb for Gc {
    const NAME: &'static str = "memory.gc";
    const COMMAND: &'static str = "memory gc";
    const SUMMARY: &'static str = "Delete expired memories";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(gc);
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
    pub deleted: usize,
    pub limit: usize,
}

pub fn gc(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let limit = request.limit.map_or(Ok(limits::MEMORY_GC_DEFAULT), positive)?;
    if limit > limits::MEMORY_GC_MAX {
        let message = format!("limit must be at most {}", limits::MEMORY_GC_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    cx.once(session, Gc::NAME, request, |work| {
        let ids = work.tx.expired_memories(work.tx.confirmed(work.now.at)?, limit)?;
        let deleted = ids.len();
        Ok(Answer { event_id: remove(work, ids)?, deleted, limit })
    })
}

/// Whether there is anything to remove.
pub fn is_due(cx: &mut Context) -> Result<bool> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    Ok(!tx.expired_memories(tx.confirmed(now.at)?, 1)?.is_empty())
}

/// Deletes expired memories. Returns the event's number.
pub(crate) fn remove(work: &mut EventWriter<'_, '_>, ids: Vec<i64>) -> Result<i64> {
    let about = super::about_project(work, None, None);
    let message = format!("Expired memories removed: {}", ids.len());
    work.change(&about, &message, &Change::MemoryCollected { ids })
}
