//! Pins a memory, so that it neither fades nor expires; or lets it go again.

use contract::domain::change::Change;
use serde::{Deserialize, Serialize};

use super::Name;
use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub name: Name,
    #[serde(default)]
    pub unpin: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub event_id: i64,
    pub key: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    pub pinned: bool,
}

pub fn pin(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let (place, name) = request.name.checked()?;
    let pinned = !request.unpin;
    cx.once(key, "memory.pin", request, |work| {
        super::living(work.tx, &place, name, work.now.at)?;
        let about = super::about(work, &place, None)?;
        let change = Change::MemoryPinned { place: place.clone(), key: name.to_owned(), pinned };
        let verb = if pinned { "pinned" } else { "unpinned" };
        let event_id = work.change(&about, &format!("Memory {verb}: {name}"), &change)?;
        Ok(Answer {
            event_id,
            key: name.to_owned(),
            scope: place.scope.as_str().to_owned(),
            scope_id: place.shown_id().map(str::to_owned),
            pinned,
        })
    })
}
