//! Lists the trusted projects.

use contract::domain::limits;
use contract::domain::trust::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "trust.list";
    const COMMAND: &'static str = "trust --list";
    const SUMMARY: &'static str = "List the trusted projects";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// At most this many.
    #[serde(default)]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub trusted: Vec<Trust>,
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let limit = request.limit.unwrap_or(limits::LIST_ROWS_MAX).min(limits::LIST_ROWS_MAX);
    let trusted = cx.store.read()?.trusts(limit)?;
    Ok(Answer { count: trusted.len(), trusted })
}
