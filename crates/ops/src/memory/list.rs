//! Lists the memories of one scope: pinned ones first, then the newest.

use contract::domain::limits;
use contract::domain::memory::draft::checked_place;
use serde::{Deserialize, Serialize};

use super::Page;
use crate::context::Context;
use crate::error::Result;
use crate::limit::rows;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    #[serde(default = "contract::continuity::memory::global")]
    pub scope: String,
    #[serde(default)]
    pub scope_id: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    #[serde(flatten)]
    pub page: Page,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let place = checked_place(&request.scope, request.scope_id.as_deref())?;
    let limit = rows(request.limit, limits::LIST_ROWS_MAX)?;
    let now = cx.now().at;
    let found = cx.store.read()?.memories(&place, now, limit + 1)?;
    Ok(Answer {
        scope: place.scope.as_str().to_owned(),
        scope_id: place.shown_id().map(str::to_owned),
        page: Page::of(&found, limit, now),
    })
}
