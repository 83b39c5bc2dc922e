//! Writes AOP EVENT messages into the log.

use contract::aop::Fallback;
use contract::aop::event::{Body, Event};
use contract::domain::task::{PlanPart, Task};
use contract::json::Value;
use serde_json::json;

use crate::error::Result;
use crate::record::{About, EventBody, EventWriter};

/// An event and its text for people.
#[derive(Debug, Clone, PartialEq)]
pub struct AopEvent {
    pub body: Body,
    /// One line, without the name of the event.
    pub told: String,
    /// Fields beside the event in the payload.
    pub more: Value,
}

impl AopEvent {
    /// That a TASK is sent as a v1 prompt.
    pub(crate) fn of_fallback(fallback: &Fallback) -> Self {
        let told = format!("sent as a v1 prompt ({})", fallback.reason);
        Self { body: fallback.body(), told, more: Value::Null }
    }
}

/// Writes an event about a task. Its kind is the name of the event in lower case.
pub(crate) fn say(work: &mut EventWriter<'_, '_>, task: &Task, said: AopEvent) -> Result<()> {
    let about = crate::task::about(work.tx, task)?;
    let part = task.part.as_ref();
    let names = (part.map(session_of), part.map(task_id_of));
    say_about(work, &about, names, said)
}

/// The same about what these ids name: a session, and a task of it.
pub(crate) fn say_about(
    work: &mut EventWriter<'_, '_>,
    about: &About,
    (session_id, task_id): (Option<String>, Option<String>),
    said: AopEvent,
) -> Result<()> {
    let event = Event::new(session_id, task_id, work.now.at, said.body);
    let name = event.kind().as_str();
    let mut payload = json!({"event": event});
    if let (Value::Object(fields), Value::Object(more)) = (&mut payload, said.more) {
        fields.extend(more);
    }
    let payload = crate::record::scrubbed(payload);
    let message = format!("{name}: {}", said.told);
    work.say(about, EventBody::event(&name.to_lowercase(), message, payload))?;
    Ok(())
}

/// The session of a task: that of its TASK, else its run.
pub fn session_of(part: &PlanPart) -> String {
    let submitted = part.spec.aop.as_ref().and_then(|task| task.pointer("/session/session_id"));
    submitted.and_then(Value::as_str).map_or_else(|| part.run_id.to_string(), str::to_owned)
}

/// What a task is called in messages: as in its TASK, else as in its plan.
pub fn task_id_of(part: &PlanPart) -> String {
    let submitted = part.spec.aop.as_ref().and_then(|task| task.pointer("/task/task_id"));
    submitted.and_then(Value::as_str).map_or_else(|| part.spec.id.clone(), str::to_owned)
}
