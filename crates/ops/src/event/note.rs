//! Records one event of an agent, for hooks and loops, which know where it happened.

use contract::domain::code::ErrorCode;
use contract::domain::event_kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::event::target;
use crate::once::Reply;
use crate::record::EventBody;
use crate::verb::{Function, Surface, Verb};

/// The agent contract's bounds on an event.
const KIND_BYTES_MAX: usize = 128;
const METADATA_BYTES_MAX: usize = 16 * 1024;

pub struct Note;

impl Verb for Note {
    const NAME: &'static str = "event.note";
    const COMMAND: &'static str = "";
    const SUMMARY: &'static str = "Record an event of an agent, for hooks and loops";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(note);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub kind: String,
    pub message: String,
    #[serde(default)]
    pub metadata: Value,
    /// The project it happened in; else the one the agent is in.
    #[serde(default)]
    pub project_id: Option<String>,
    /// The task it belongs to; else the one the agent has in focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
}

pub fn note(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let kind = request.kind.trim();
    if kind.is_empty() || kind.len() > KIND_BYTES_MAX || kind.chars().any(char::is_control) {
        let message = format!("the kind must be 1 to {KIND_BYTES_MAX} bytes without control characters");
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    event_kind::open_to_agents(kind)?;
    crate::task::bounded("the message", &request.message)?;
    if request.metadata.to_string().len() > METADATA_BYTES_MAX {
        let message = format!("the metadata is longer than {METADATA_BYTES_MAX} bytes");
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    target::check(request.project_id.as_deref())?;
    cx.once(session, Note::NAME, request, |work| {
        let (about, _) = target::of_event(work, request.task_id.as_deref(), request.project_id.as_deref())?;
        let says = EventBody::event(kind, request.message.clone(), request.metadata.clone());
        Ok(Answer { event_id: work.say(&about, says)? })
    })
}
