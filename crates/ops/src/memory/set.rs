//! Remembers a value under a key.

use contract::continuity::memory::MemoryText;
use contract::domain::memory::draft::Expiry;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Reply;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub memory: MemoryText,
    /// A length such as `7d`, counted from the write; wins over `expires_at`. A retry is the same request.
    #[serde(default)]
    pub expires_in: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub event_id: i64,
    pub key: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

pub fn set(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let mut draft = request.memory.draft()?;
    if let Some(length) = &request.expires_in {
        draft.expiry = Expiry::after(length)?;
    }
    cx.once(key, "memory.set", request, |work| {
        let (event_id, memory) = super::write(work, &draft, None)?;
        Ok(Answer {
            event_id,
            scope: memory.place.scope.as_str().to_owned(),
            scope_id: memory.place.shown_id().map(str::to_owned),
            key: memory.key,
            expires_at: memory.expires_at.map(|at| at.to_string()),
        })
    })
}
