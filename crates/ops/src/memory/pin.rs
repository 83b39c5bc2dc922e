//! Pins a memory, so that it neither fades nor expires, or unpins it.

use contract::domain::change::Change;
use contract::domain::memory::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Name;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Pin;

impl Verb for Pin {
    const NAME: &'static str = "memory.pin";
    const COMMAND: &'static str = "memory pin";
    const SUMMARY: &'static str = "Pin a memory so that it neither fades nor expires, or unpin it";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(pin);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub key: String,
    #[serde(default = "super::global")]
    pub scope: Scope,
    /// The project, task or agent; the global scope has none.
    #[serde(default)]
    pub scope_id: Option<String>,
    /// Let it fade and expire again.
    #[serde(default)]
    pub unpin: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
    pub key: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    pub pinned: bool,
}

pub fn pin(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let name = Name { key: request.key.clone(), scope: request.scope, scope_id: request.scope_id.clone() };
    let (place, name) = name.checked()?;
    let place = cx.memory_place(session, place)?;
    let pinned = !request.unpin;
    cx.once(session, Pin::NAME, request, |work| {
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
