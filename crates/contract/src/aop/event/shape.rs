//! The shapes of the EVENT messages: the fields that all kinds have, and those of the kind's body.

use super::{
    EventKind, EventMessage, HeartbeatBody, PriorityEscalation, ProgressUpdate, RollbackInitiated,
    SessionFinalReport, VersionFallback,
};
use crate::aop::header::{Family, NAME, TIME, VERSION, maybe};
use crate::shape::{Described, Field, Object, Unknown, extensions, required};

pub(crate) fn of(kind: EventKind) -> &'static Object {
    match kind {
        EventKind::Heartbeat => &HEARTBEAT,
        EventKind::ProgressUpdate => &PROGRESS_UPDATE,
        EventKind::PriorityEscalation => &PRIORITY_ESCALATION,
        EventKind::RollbackInitiated => &ROLLBACK_INITIATED,
        EventKind::VersionFallback => &VERSION_FALLBACK,
        EventKind::SessionFinalReport => &SESSION_FINAL_REPORT,
    }
}

/// The shape of an event whose kind is missing or unknown.
pub(crate) static EVENT: Object = Object {
    name: "event_message",
    about: "an AOP EVENT of an unknown kind",
    fields: &[AOP, SCHEMA, FAMILY, TYPE, KIND, TIMESTAMP, extensions()],
    unknown: Unknown::Kept,
};

const AOP: Field = required("aop_version", VERSION, "the protocol revision");
const SCHEMA: Field = maybe("schema_version", &NAME, "the schema revision");
const FAMILY: Field = maybe("protocol_family", &Family::SHAPE, "always AOP");
const TYPE: Field = required("message_type", EventMessage::SHAPE, "always EVENT");
const KIND: Field = required("event", EventKind::SHAPE, "what happened");
const SESSION: Field = required("session_id", NAME, "");
const TASK: Field = required("task_id", NAME, "");
const TIMESTAMP: Field = required("timestamp", TIME, "");

/// On the wire the fields of a body are at the same level as those of the event.
macro_rules! event {
    ($body:ty, $session:expr, $task:expr) => {
        Object {
            fields: &joined::<{ <$body>::OBJECT.fields.len() + 9 }>($session, $task, <$body>::OBJECT.fields),
            ..*<$body>::OBJECT
        }
    };
}

const fn joined<const N: usize>(session: Field, task: Field, body: &[Field]) -> [Field; N] {
    let mut all = [extensions(); N];
    let (before, rest) = all.split_at_mut(8);
    before.copy_from_slice(&[AOP, SCHEMA, FAMILY, TYPE, KIND, session, task, TIMESTAMP]);
    rest.split_at_mut(body.len()).0.copy_from_slice(body);
    all
}

static HEARTBEAT: Object = event!(HeartbeatBody, SESSION, TASK);
static PROGRESS_UPDATE: Object = event!(ProgressUpdate, SESSION, TASK);
static PRIORITY_ESCALATION: Object = event!(PriorityEscalation, SESSION, TASK);
static ROLLBACK_INITIATED: Object = event!(RollbackInitiated, SESSION, TASK);
static VERSION_FALLBACK: Object = event!(
    VersionFallback,
    maybe("session_id", &NAME, "absent where the message did not name one"),
    maybe("task_id", &NAME, "absent where the message did not name one")
);
static SESSION_FINAL_REPORT: Object = event!(SessionFinalReport, SESSION, maybe("task_id", &NAME, ""));
