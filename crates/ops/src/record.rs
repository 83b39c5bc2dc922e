//! Builds the events that operations append: scrubbed, addressed and correlated in one way.

use contract::domain::change::Change;
use contract::domain::id::{Minter, mint};
use contract::domain::priority::Priority;
use contract::domain::run::RunId;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::Now;
use contract::secrets;
use serde_json::Value;
use store::{NewEvent, Stream, Tx};

use crate::context::Caller;
use crate::error::Result;

/// What an event is about, apart from what it says.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) stream: Stream,
    pub(crate) corr: String,
    pub(crate) reply_to: Option<String>,
    pub(crate) priority: Priority,
    pub(crate) project_id: Option<String>,
    pub(crate) task_id: Option<TaskId>,
    pub(crate) run_id: Option<RunId>,
}

impl About {
    /// Events of a task outside a run are correlated by the task itself.
    pub(crate) fn task(task: &Task) -> Self {
        Self {
            stream: stream_of(task.project_id.as_deref()),
            corr: task.id.to_string(),
            reply_to: None,
            priority: Priority::from_number(task.priority),
            project_id: task.project_id.clone(),
            task_id: Some(task.id.clone()),
            run_id: task.part.as_ref().map(|part| part.run_id.clone()),
        }
    }
}

pub(crate) fn stream_of(project_id: Option<&str>) -> Stream {
    project_id.map_or(Stream::Store, |id| Stream::Project(id.to_owned()))
}

/// What an event says.
pub(crate) struct Says {
    pub(crate) r#type: &'static str,
    pub(crate) to: String,
    pub(crate) intent: String,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) payload: Value,
    pub(crate) requires: Option<Value>,
}

impl Says {
    pub(crate) fn event(kind: &str, message: impl Into<String>, payload: Value) -> Self {
        Self {
            r#type: "event",
            to: "log.writ".to_owned(),
            intent: format!("writ.{kind}"),
            kind: kind.to_owned(),
            message: message.into(),
            payload,
            requires: None,
        }
    }
}

/// Appends an event that changes no table.
pub(crate) fn say(
    tx: &Tx<'_>,
    (now, ids, caller): (&Now, &mut dyn Minter, &Caller),
    about: &About,
    says: Says,
) -> Result<i64> {
    let event = build(now, ids, caller, about, says);
    Ok(tx.append(&about.stream, event)?)
}

/// Makes a change and appends its event.
pub(crate) fn change(
    tx: &Tx<'_>,
    (now, ids, caller): (&Now, &mut dyn Minter, &Caller),
    about: &About,
    message: &str,
    change: &Change,
) -> Result<i64> {
    let says = Says::event(change.kind(), message, Value::Null);
    let event = build(now, ids, caller, about, says);
    Ok(tx.change(&about.stream, event, change)?)
}

fn build(now: &Now, ids: &mut dyn Minter, caller: &Caller, about: &About, says: Says) -> NewEvent {
    NewEvent {
        event_id: mint(ids, now.at),
        at: now.at,
        r#type: says.r#type,
        from: caller.entity.clone(),
        to: says.to,
        intent: says.intent,
        corr: about.corr.clone(),
        reply_to: about.reply_to.clone(),
        priority: about.priority.aee(),
        requires: says.requires,
        payload: scrubbed(says.payload),
        kind: says.kind,
        agent: caller.agent.as_str().to_owned(),
        project_id: about.project_id.clone(),
        task_id: about.task_id.clone(),
        run_id: about.run_id.clone(),
        message: secrets::scrub(&says.message).into_owned(),
    }
}

/// The value with every secret in its texts replaced. Nothing is stored before this.
pub(crate) fn scrubbed(value: Value) -> Value {
    match value {
        Value::String(text) => match secrets::scrub(&text) {
            std::borrow::Cow::Borrowed(_) => Value::String(text),
            std::borrow::Cow::Owned(clean) => Value::String(clean),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(scrubbed).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, scrubbed(value))).collect())
        }
        other => other,
    }
}
