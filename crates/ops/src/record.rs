//! Builds the events that operations append: scrubbed, addressed and correlated in one way.

use contract::continuity::event::RESUME_INTENT;
use contract::domain::change::Change;
use contract::domain::event_kind::own_intent;
use contract::domain::id::{Event, Id, Minter, mint};
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::run::RunId;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::Now;
use contract::secrets;
pub use contract::secrets::scrub_value as scrubbed;
use serde_json::Value;
use store::{NewEvent, Stream, Tx};

use crate::context::Caller;
use crate::error::Result;
use crate::host::HostView;

/// The subject of an event, apart from its body.
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

/// The body of an event.
pub(crate) struct EventBody {
    pub(crate) r#type: &'static str,
    pub(crate) to: String,
    pub(crate) intent: String,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) payload: Value,
    pub(crate) requires: Option<Value>,
}

impl EventBody {
    pub(crate) fn event(kind: &str, message: impl Into<String>, payload: Value) -> Self {
        Self {
            r#type: "event",
            to: "log.writ".to_owned(),
            intent: own_intent(kind),
            kind: kind.to_owned(),
            message: message.into(),
            payload,
            requires: None,
        }
    }
}

/// Writes events in one transaction, at one moment, for one caller.
pub(crate) struct EventWriter<'w, 't> {
    pub(crate) tx: &'w Tx<'t>,
    pub(crate) now: &'w Now,
    pub(crate) ids: &'w mut dyn Minter,
    pub(crate) caller: &'w Caller,
    /// What the host has said; see [`HostView`].
    pub(crate) view: &'w HostView,
}

impl<'t> EventWriter<'_, 't> {
    /// Writes in the same transaction for another caller.
    pub(crate) fn acting_as<'a>(&'a mut self, caller: &'a Caller) -> EventWriter<'a, 't> {
        EventWriter { tx: self.tx, now: self.now, ids: &mut *self.ids, caller, view: self.view }
    }

    /// Appends an event that changes no table. Returns its number.
    pub(crate) fn say(&mut self, about: &About, says: EventBody) -> Result<i64> {
        let id = mint(self.ids, self.now.at);
        self.say_as(about, says, id)
    }

    /// The same, attributed to the original sender.
    pub(crate) fn say_for(&mut self, speaker: Option<&str>, about: &About, says: EventBody) -> Result<i64> {
        let id = mint(self.ids, self.now.at);
        let mut event = self.build(id, about, says);
        if let Some(speaker) = speaker {
            speaker.clone_into(&mut event.from);
        }
        Ok(self.tx.append(&about.stream, event)?)
    }

    /// The same under an id that was minted before, because others refer to it already.
    pub(crate) fn say_as(&mut self, about: &About, says: EventBody, id: Id<Event>) -> Result<i64> {
        let event = self.build(id, about, says);
        Ok(self.tx.append(&about.stream, event)?)
    }

    /// Makes a change and appends its event. Returns the event's number.
    pub(crate) fn change(&mut self, about: &About, message: &str, change: &Change) -> Result<i64> {
        let id = mint(self.ids, self.now.at);
        let event = self.build(id, about, EventBody::event(change.kind(), message, Value::Null));
        Ok(self.tx.change(&about.stream, event, change)?)
    }

    /// The same for what a resume writes for itself, which is not news to anyone.
    pub(crate) fn change_in_resume(&mut self, about: &About, message: &str, change: &Change) -> Result<i64> {
        let id = mint(self.ids, self.now.at);
        let mut says = EventBody::event(change.kind(), message, Value::Null);
        RESUME_INTENT.clone_into(&mut says.intent);
        let event = self.build(id, about, says);
        Ok(self.tx.change(&about.stream, event, change)?)
    }

    fn build(&self, event_id: Id<Event>, about: &About, says: EventBody) -> NewEvent {
        NewEvent {
            event_id,
            at: self.now.at,
            r#type: says.r#type,
            from: self.caller.entity.clone(),
            to: says.to,
            intent: says.intent,
            corr: about.corr.clone(),
            reply_to: about.reply_to.clone(),
            priority: about.priority.aee(),
            requires: says.requires.map(scrubbed),
            payload: scrubbed(says.payload),
            kind: says.kind,
            agent: self.caller.agent.as_str().to_owned(),
            project_id: about.project_id.clone(),
            task_id: about.task_id.clone(),
            run_id: about.run_id.clone(),
            message: bounded(secrets::scrub(&says.message).into_owned()),
        }
    }
}

/// A message is for the eye; what it cuts off stands in the payload.
fn bounded(mut message: String) -> String {
    if message.len() > limits::EVENT_MESSAGE_BYTES_MAX {
        let end = (0..=limits::EVENT_MESSAGE_BYTES_MAX).rev().find(|&i| message.is_char_boundary(i));
        message.truncate(end.unwrap_or(0));
    }
    message
}
