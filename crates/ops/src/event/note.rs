//! Records one event of an agent, for hooks and loops, which know where it happened.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, EventBody, stream_of};
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

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub kind: String,
    pub message: String,
    #[serde(default)]
    pub metadata: Value,
    /// The project it happened in; else the one the agent is in.
    #[serde(default)]
    pub project_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
}

pub fn note(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let kind = request.kind.trim();
    if kind.is_empty() || kind.len() > KIND_BYTES_MAX || kind.chars().any(char::is_control) {
        let message = format!("the kind must be 1 to {KIND_BYTES_MAX} bytes without control characters");
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    crate::task::bounded("the message", &request.message)?;
    if request.metadata.to_string().len() > METADATA_BYTES_MAX {
        let message = format!("the metadata is longer than {METADATA_BYTES_MAX} bytes");
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    if request.project_id.as_ref().is_some_and(|id| id.len() > limits::PROJECT_ID_BYTES_MAX) {
        let message = format!("the project id is longer than {} bytes", limits::PROJECT_ID_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    cx.once(key, Note::NAME, request, |work| {
        let agent = work.caller.agent.as_str().to_owned();
        let known = work.tx.agent(&agent)?.and_then(|state| state.focus_project_id);
        let project_id = request.project_id.clone().or(known);
        let about = About {
            stream: stream_of(project_id.as_deref()),
            corr: format!("agent-{agent}"),
            reply_to: None,
            priority: Priority::default(),
            project_id,
            task_id: None,
            run_id: None,
        };
        let says = EventBody::event(kind, request.message.clone(), request.metadata.clone());
        Ok(Answer { event_id: work.say(&about, says)? })
    })
}
