//! Which shape the payload of an audit record has.

use super::{GuardRailCheck, Raw, RecordType, RollbackEvent, RoutingDecision, SessionSummary};
use crate::aop::response::Response;
use crate::aop::task::Task;
use crate::shape::{Object, Shape, Text, TextForm, UNBOUNDED};

pub(super) const UUID: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(&UUID_FORM) });

static UUID_FORM: TextForm = TextForm {
    name: "a UUID",
    pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    accepts: is_uuid,
};

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub(crate) const RECORD: &Object = Raw::OBJECT;

/// The shape of a record's payload.
pub(crate) fn payload(record: RecordType) -> &'static Object {
    match record {
        RecordType::TaskDispatched => Task::OBJECT,
        RecordType::ResponseReceived => Response::OBJECT,
        RecordType::RoutingDecision => RoutingDecision::OBJECT,
        RecordType::GuardRailCheck => GuardRailCheck::OBJECT,
        RecordType::RollbackEvent => RollbackEvent::OBJECT,
        RecordType::SessionSummary => SessionSummary::OBJECT,
    }
}
