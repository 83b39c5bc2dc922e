//! Lists access tokens, without their secrets.

use contract::domain::limits;
use contract::domain::token::Token;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "token.list";
    const COMMAND: &'static str = "token list";
    const SUMMARY: &'static str = "List tokens, without their secrets";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    /// The oldest first; revoked and expired ones included.
    pub tokens: Vec<Token>,
}

pub fn list(cx: &mut Context, _: &Request) -> Result<Answer> {
    let tokens = cx.store.read()?.access_tokens(limits::ACCESS_TOKENS_MAX)?;
    Ok(Answer { count: tokens.len(), tokens })
}
