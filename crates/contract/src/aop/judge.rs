//! Checks bytes against every rule of the contract, in order of precedence.

use serde_json::Value;

use super::event::{self, EventKind};
use super::extra::{self, Requirements};
use super::header::{self, MessageType, VERSION};
use super::{limits, response, settle, task};
use crate::domain::failure_code::FailureCode;
use crate::finding::{Finding, Findings};
use crate::json::{self, strict};
use crate::shape::{Described, Object, Shape, Unknown, check, required};
use crate::verdict::Verdict;

/// Names this contract in verdicts.
pub(super) const KIND: &str = "aop";

/// What the caller accepts.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) wanted: &'static [MessageType],
    pub(super) strict: bool,
    pub(super) requirements: Requirements,
}

/// A message that broke no rule.
pub(super) struct ValidMessage {
    pub(super) message: MessageType,
    pub(super) value: Value,
    pub(super) warnings: Findings,
}

pub(super) fn judge(bytes: &[u8], expected: Expected) -> Result<ValidMessage, Box<Verdict>> {
    let most = expected.wanted.iter().map(|message| limits::bytes_max(Some(*message))).max();
    bounded(bytes, most.unwrap_or(limits::bytes_max(None)), "message")?;
    let mut value = strict::parse(bytes).map_err(|malformed| {
        let message = format!("{malformed} at line {} column {}", malformed.line, malformed.column);
        whole(FailureCode::ParseFailure, "json", message)
    })?;
    let named = value["message_type"].as_str().and_then(MessageType::parse);
    if !claims_v2(&value, named) {
        let message = "not an AOP v2 message: `aop_version` and other required fields are missing";
        return Err(whole(FailureCode::ParseFailure, "not_aop", message.to_owned()));
    }
    let Some(message) = named.filter(|message| expected.wanted.contains(message)) else {
        return Err(wrong_message(&value, expected.wanted));
    };
    bounded(bytes, limits::bytes_max(Some(message)), message.as_str())?;

    let shape = shape_of(message, &value);
    let mut warnings = settle::settle(shape, &mut value);
    let mut faults = check::check(&Shape::Object(shape), &value, expected.strict);
    if message == MessageType::Response {
        extra::requirements(expected.requirements, &value, &mut faults);
    }
    if expected.strict {
        extra::strict(message, &value, &mut faults);
    }
    extra::doubts(message, &value, &mut warnings);
    let strict_faults = expected.strict.then_some(&mut faults);
    limits::soft(message, &value, &mut limits::SoftLimits { warnings: &mut warnings, faults: strict_faults });
    if faults.is_empty() {
        return Ok(ValidMessage { message, value, warnings });
    }
    Err(refusal(message, &value, faults, warnings))
}

/// The verdict on a message that broke no rule.
pub(super) fn allowed(judged: ValidMessage) -> Verdict {
    let name = name_of(judged.message, &judged.value);
    let mut verdict = Verdict::allowed(KIND, format!("a valid {name}"), judged.warnings);
    note(&mut verdict, judged.message, &judged.value);
    verdict
}

/// A refusal of the whole document.
pub(super) fn whole(code: FailureCode, rule: &'static str, message: String) -> Box<Verdict> {
    let primary = Finding { path: "$".to_owned(), rule, message };
    let mut findings = Findings::default();
    findings.push(primary.path.clone(), rule, primary.message.clone());
    Box::new(Verdict::denied(KIND, code.as_str(), &primary, findings, Findings::default()))
}

fn bounded(bytes: &[u8], most: usize, what: &str) -> Result<(), Box<Verdict>> {
    if bytes.len() <= most {
        return Ok(());
    }
    let message = format!("the {what} has {}; the limit is {most} ({}KB)", json::size(bytes), most / 1024);
    Err(whole(FailureCode::ContextOverflow, "max_bytes", message))
}

/// Whether a message claims to be v2: it has a version, or every required member of its type.
fn claims_v2(value: &Value, named: Option<MessageType>) -> bool {
    let members: &[&str] = match named {
        _ if value.get("aop_version").is_some() => return true,
        Some(MessageType::Task) => &["session", "target", "task"],
        Some(MessageType::Response) => &["session_id", "task_id", "agent", "task_status"],
        Some(MessageType::Event) => &["event"],
        None => return false,
    };
    members.iter().all(|member| value.get(member).is_some())
}

fn shape_of(message: MessageType, value: &Value) -> &'static Object {
    match message {
        MessageType::Task => task::Task::OBJECT,
        MessageType::Response => response::Response::OBJECT,
        MessageType::Event => match value["event"].as_str().and_then(EventKind::parse) {
            Some(kind) => event::shape::of(kind),
            None => &event::shape::EVENT,
        },
    }
}

/// The faults of a message whose type is unknown or not the expected one.
static ANY_MESSAGE: Object = Object {
    name: "message",
    about: "",
    fields: &[
        required("aop_version", VERSION, "the protocol revision"),
        required("message_type", MessageType::SHAPE, ""),
    ],
    unknown: Unknown::Kept,
};

fn wrong_message(value: &Value, wanted: &[MessageType]) -> Box<Verdict> {
    let mut faults = check::check(&Shape::Object(&ANY_MESSAGE), value, false);
    let wants_response = wanted.contains(&MessageType::Response) && !wanted.contains(&MessageType::Task);
    let code = if wants_response { FailureCode::MalformedResponse } else { FailureCode::SchemaValidation };
    if faults.iter().all(|fault| fault.path != "$.message_type") {
        let words: Vec<&str> = wanted.iter().map(|message| message.as_str()).collect();
        faults.push("$.message_type", "enum", format!("must be {} here", words.join(" or ")));
    }
    let primary = faults.iter().find(|fault| fault.path == "$.message_type");
    let primary = primary.cloned().expect("BUG: pushed above where it was absent");
    Box::new(Verdict::denied(KIND, code.as_str(), &primary, faults, Findings::default()))
}

fn refusal(message: MessageType, value: &Value, faults: Findings, warnings: Findings) -> Box<Verdict> {
    let overflow = faults.iter().filter(|fault| limits::is_overflow(fault)).min().cloned();
    let code = match message {
        _ if overflow.is_some() => FailureCode::ContextOverflow,
        MessageType::Task | MessageType::Event => FailureCode::SchemaValidation,
        MessageType::Response => FailureCode::MalformedResponse,
    };
    let primary = overflow.or_else(|| faults.iter().min().cloned());
    let primary = primary.expect("BUG: called only with faults");
    let mut verdict = Verdict::denied(KIND, code.as_str(), &primary, faults, warnings);
    note(&mut verdict, message, value);
    Box::new(verdict)
}

fn note(verdict: &mut Verdict, message: MessageType, value: &Value) {
    let more = &mut verdict.details.more;
    more.insert("message_type".to_owned(), Value::from(message.as_str()));
    if let (MessageType::Event, Some(kind)) = (message, value["event"].as_str().and_then(EventKind::parse)) {
        more.insert("event".to_owned(), Value::from(kind.as_str()));
    }
    if let Some(version) = value["aop_version"].as_str().filter(|version| header::is_v2(version)) {
        more.insert("aop_version".to_owned(), Value::from(version));
    }
}

fn name_of(message: MessageType, value: &Value) -> String {
    match (message, value["event"].as_str()) {
        (MessageType::Event, Some(kind)) => format!("{kind} EVENT"),
        (message, _) => message.as_str().to_owned(),
    }
}
