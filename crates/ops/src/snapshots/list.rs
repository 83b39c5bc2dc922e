//! Lists the snapshots that are kept.

use contract::domain::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::host::KeptSnapshot;
use crate::limit::positive;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "snapshots.list";
    const COMMAND: &'static str = "snapshots list";
    const SUMMARY: &'static str = "List the snapshots that are kept for rollbacks";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// How many, newest first. Default 50, at most 1000.
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Snapshots")]
pub struct Answer {
    pub snapshots: Vec<KeptSnapshot>,
    /// All of them, listed or not.
    pub count: usize,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    answer(cx.host().kept_snapshots()?, request)
}

/// What is listed of these snapshots, which are sorted.
pub fn answer(kept: Vec<KeptSnapshot>, request: &Request) -> Result<Answer> {
    let limit = request.limit.map_or(Ok(limits::LIST_ROWS_DEFAULT), positive)?.min(limits::LIST_ROWS_MAX);
    let count = kept.len();
    Ok(Answer { snapshots: kept.into_iter().rev().take(limit).collect(), count })
}
