//! Agent Orchestration Protocol, JSON v2: the messages between an orchestrator and its executors.

pub mod audit;
pub mod detect;
pub mod effective;
pub mod event;
pub mod fallback;
pub mod header;
pub mod kept;
pub mod limits;
pub mod needs;
pub mod report;
pub mod response;
pub mod task;
pub mod v1;
pub mod without_effect;

mod extra;
mod judge;
mod priority;
mod settle;

use serde::de::DeserializeOwned;

pub use detect::{Detected, Version, detect};
pub use event::{Event, EventKind};
pub use extra::Requirements;
pub use fallback::Fallback;
pub use header::MessageType;
pub use response::Response;
pub use task::{GuardRails, Task};

use crate::domain::failure_code::FailureCode;
use crate::finding::Finding;
use crate::shape::Object;
use crate::verdict::Verdict;
use judge::{Expected, ValidMessage};

const ANY: &[MessageType] = &[MessageType::Task, MessageType::Response, MessageType::Event];
const FROM_EXECUTOR: &[MessageType] = &[MessageType::Response, MessageType::Event];

/// The shape of every message, for the published schemas.
pub fn shapes() -> Vec<&'static Object> {
    let events = EventKind::ALL.iter().map(|kind| event::shape::of(*kind));
    [Task::OBJECT, Response::OBJECT].into_iter().chain(events).collect()
}

/// Validates one message of any type. A RESPONSE is checked against the default guard rails. In strict mode the values
/// of older drafts, incomplete responses and exceeded soft limits are faults too.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::judge(bytes, Expected { wanted: ANY, strict, requirements: Requirements::of(None) }) {
        Ok(judged) => judge::allowed(judged),
        Err(verdict) => *verdict,
    }
}

/// Reads a TASK; returns it with its warnings.
pub fn parse_task(bytes: &[u8]) -> Result<(Task, Vec<Finding>), Box<Verdict>> {
    parse(bytes, &[MessageType::Task], Requirements::of(None))
}

/// Reads a RESPONSE, checked against the guard rails of its TASK; returns it with its warnings.
pub fn parse_response(
    bytes: &[u8],
    guard_rails: Option<&GuardRails>,
) -> Result<(Response, Vec<Finding>), Box<Verdict>> {
    parse(bytes, &[MessageType::Response], Requirements::of(guard_rails))
}

/// Reads an EVENT of any kind; returns it with its warnings.
pub fn parse_event(bytes: &[u8]) -> Result<(Event, Vec<Finding>), Box<Verdict>> {
    parse(bytes, &[MessageType::Event], Requirements::of(None))
}

/// One line of an executor's output.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "matched where it is read, never stored in bulk")]
pub enum AopLine {
    Event(Event),
    Response(Response),
}

/// Reads one line of an executor's output: an EVENT, or the RESPONSE.
pub fn parse_line(bytes: &[u8], guard_rails: Option<&GuardRails>) -> Result<AopLine, Box<Verdict>> {
    let requirements = Requirements::of(guard_rails);
    let judged = judge::judge(bytes, Expected { wanted: FROM_EXECUTOR, strict: false, requirements })?;
    match judged.message {
        MessageType::Event => typed(judged).map(|(event, _)| AopLine::Event(event)),
        MessageType::Response | MessageType::Task => {
            typed(judged).map(|(response, _)| AopLine::Response(response))
        }
    }
}

fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    wanted: &'static [MessageType],
    requirements: Requirements,
) -> Result<(T, Vec<Finding>), Box<Verdict>> {
    judge::judge(bytes, Expected { wanted, strict: false, requirements }).and_then(typed)
}

/// The shapes accept only what the types can hold; if that is ever untrue, the message is refused.
fn typed<T: DeserializeOwned>(judged: ValidMessage) -> Result<(T, Vec<Finding>), Box<Verdict>> {
    let code = match judged.message {
        MessageType::Response => FailureCode::MalformedResponse,
        MessageType::Task | MessageType::Event => FailureCode::SchemaValidation,
    };
    let ValidMessage { value, warnings, .. } = judged;
    match serde_json::from_value(value) {
        Ok(message) => Ok((message, warnings.sorted())),
        Err(error) => Err(judge::whole(code, "type", error.to_string())),
    }
}

#[cfg(test)]
mod tests;
