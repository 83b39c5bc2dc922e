//! Lists the memories of one scope: pinned ones first, then the newest.

use contract::domain::limits;
use contract::domain::memory::Scope;
use contract::domain::memory::draft::checked_place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Page;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::limit::rows;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "memory.list";
    const COMMAND: &'static str = "memory list";
    const SUMMARY: &'static str = "List the memories of a scope, pinned first, then newest";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(list);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default = "super::global")]
    pub scope: Scope,
    /// The project, task or agent; the global scope has none.
    #[serde(default)]
    pub scope_id: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    #[serde(flatten)]
    pub page: Page,
}

pub fn list(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let place = checked_place(request.scope.as_str(), request.scope_id.as_deref())?;
    let place = cx.memory_place(session, place)?;
    let limit = rows(request.limit, limits::LIST_ROWS_MAX)?;
    let now = cx.now().at;
    let found = cx.store.read()?.memories(&place, now, limit + 1)?;
    Ok(Answer {
        scope: place.scope.as_str().to_owned(),
        scope_id: place.shown_id().map(str::to_owned),
        page: Page::of(&found, limit, now),
    })
}
