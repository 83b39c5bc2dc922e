//! Memory: values that agents store for each other and for later.

pub mod delete;
pub mod gc;
pub mod get;
pub mod list;
pub mod pin;
pub mod search;
pub mod set;

use contract::continuity::MemoryView;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::{Corr, mint};
use contract::domain::memory::draft::{MemoryDraft, checked_key, checked_place};
use contract::domain::memory::{Memory, MemoryScope, NewMemory, Scope};
use contract::domain::priority::Priority;
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::error::{Error, Result};
use crate::record::{About, EventWriter, stream_of};
use crate::task;

/// One memory, by its key in a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Name {
    pub key: String,
    #[serde(default = "global")]
    pub scope: Scope,
    /// The project, task or agent; the global scope has none.
    #[serde(default)]
    pub scope_id: Option<String>,
}

/// The scope of requests that name none.
pub(crate) fn global() -> Scope {
    Scope::Global
}

impl Name {
    pub(crate) fn checked(&self) -> Result<(MemoryScope, &str)> {
        let key = checked_key(&self.key)?;
        Ok((checked_place(self.scope.as_str(), self.scope_id.as_deref())?, key))
    }
}

/// A page of memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    pub count: usize,
    pub memories: Vec<MemoryView>,
    /// There are more than the limit.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more: bool,
}

impl Page {
    /// Of what was found when one more than `limit` was asked for.
    pub(crate) fn of(found: &[Memory], limit: usize, now: Timestamp) -> Self {
        let memories: Vec<MemoryView> =
            found.iter().take(limit).map(|memory| MemoryView::at(memory, now)).collect();
        Page { count: memories.len(), memories, more: found.len() > limit }
    }
}

/// The memory, unless it is expired.
pub(crate) fn living(tx: &Tx<'_>, place: &MemoryScope, key: &str, now: Timestamp) -> Result<Memory> {
    let found = tx.memory(place, key)?.filter(|memory| !memory.is_expired(now));
    found.ok_or_else(|| Error::new(ErrorCode::NotFound, "memory entry not found"))
}

/// Writes a memory. Returns its event's number and what was written.
pub(crate) fn write(
    work: &mut EventWriter<'_, '_>,
    draft: &MemoryDraft,
    corr: Option<&str>,
) -> Result<(i64, NewMemory)> {
    let about = about(work, &draft.place, corr)?;
    let mut known = work.tx.memory(&draft.place, &draft.key)?;
    if let Some(over) = known.take_if(|memory| memory.is_expired(work.now.at)) {
        // It must not matter whether the collector has run: an expired memory is not continued.
        let collected = Change::MemoryCollected { ids: vec![over.written.id] };
        work.change(&about, "Expired memory removed", &collected)?;
    }
    let number = match &known {
        Some(memory) => memory.written.id,
        None => work.tx.next_number("memory")?,
    };
    let memory = draft.written(known.as_ref(), number, work.now.at)?;
    let message = format!("Memory set: {}", memory.key);
    let event_id = work.change(&about, &message, &Change::MemorySet { memory: memory.clone() })?;
    Ok((event_id, memory))
}

/// Events of a memory belong to its task or project. Without a task they need a correlation: the one that is given, or
/// a new one.
pub(crate) fn about(
    work: &mut EventWriter<'_, '_>,
    place: &MemoryScope,
    corr: Option<&str>,
) -> Result<About> {
    if place.scope == Scope::Task
        && let Ok(task) = task::required(work.tx, &place.scope_id)
    {
        return task::about(work.tx, &task);
    }
    let project_id = Some(place.scope_id.clone()).filter(|_| place.scope == Scope::Project);
    Ok(about_project(work, project_id, corr))
}

/// What belongs to no task.
pub(crate) fn about_project(
    work: &mut EventWriter<'_, '_>,
    project_id: Option<String>,
    corr: Option<&str>,
) -> About {
    let corr = corr.map_or_else(|| mint::<Corr>(work.ids, work.now.at).to_string(), str::to_owned);
    About {
        stream: stream_of(project_id.as_deref()),
        corr,
        reply_to: None,
        priority: Priority::default(),
        project_id,
        task_id: None,
        run_id: None,
    }
}
