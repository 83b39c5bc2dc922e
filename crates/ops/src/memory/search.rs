//! Finds memories that contain every word, in any scope; the best match first.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::text::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Page;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::limit::rows;
use crate::verb::{Function, Surface, Verb};

pub struct Search;

impl Verb for Search {
    const NAME: &'static str = "memory.search";
    const COMMAND: &'static str = "memory search";
    const SUMMARY: &'static str = "Search the memories of all scopes by words";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| search(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub query: String,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub query: String,
    #[serde(flatten)]
    pub page: Page,
}

pub fn search(cx: &mut Context, request: &Request) -> Result<Answer> {
    let words = words(&request.query)?;
    let limit = rows(request.limit, limits::LIST_ROWS_DEFAULT)?;
    let now = cx.now().at;
    let found = cx.store.read()?.memories_with(&words, now, limit + 1)?;
    Ok(Answer { query: request.query.clone(), page: Page::of(&found, limit, now) })
}

fn words(query: &str) -> Result<Vec<&str>> {
    let words: Vec<&str> = query.split_whitespace().collect();
    if words.is_empty() {
        return Err(Error::new(ErrorCode::InvalidInput, "the query has no words"));
    }
    if words.len() > limits::SEARCH_WORDS_MAX {
        let message =
            format!("the query has {} words; the limit is {}", words.len(), limits::SEARCH_WORDS_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    for word in &words {
        one_line("a word of the query", word, limits::SEARCH_WORD_BYTES_MAX)?;
    }
    Ok(words)
}
