//! Deletes a memory.

use contract::domain::change::Change;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Name;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Delete;

impl Verb for Delete {
    const NAME: &'static str = "memory.delete";
    const COMMAND: &'static str = "memory delete";
    const SUMMARY: &'static str = "Delete a memory";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Name;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(delete);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
    pub key: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
}

pub fn delete(cx: &mut Context, session: &Session, request: &Name) -> Result<Reply<Answer>> {
    let (place, name) = request.checked()?;
    let place = cx.memory_place(session, place)?;
    cx.once(session, Delete::NAME, request, |work| {
        super::living(work.tx, &place, name, work.now.at)?;
        let about = super::about(work, &place, None)?;
        let deleted = Change::MemoryDeleted { place: place.clone(), key: name.to_owned() };
        let event_id = work.change(&about, &format!("Memory deleted: {name}"), &deleted)?;
        Ok(Answer {
            event_id,
            key: name.to_owned(),
            scope: place.scope.as_str().to_owned(),
            scope_id: place.shown_id().map(str::to_owned),
        })
    })
}
