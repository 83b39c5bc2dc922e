//! Validates one audit record.

use serde_json::Value;

use super::shape::{self, RECORD};
use super::{ActorRole, Record, RecordType};
use crate::aop::{judge, settle};
use crate::domain::failure_code::FailureCode;
use crate::domain::limits::DOCUMENT_BYTES_MAX;
use crate::finding::{Finding, Findings};
use crate::json::{self, strict};
use crate::shape::{Shape, check};
use crate::verdict::Verdict;

const KIND: &str = "aop-audit";

/// Validates an audit record; the payload is checked against the shape of the record's type.
pub fn validate(bytes: &[u8]) -> Verdict {
    match judged(bytes) {
        Ok((_, warnings)) => Verdict::allowed(KIND, "a valid audit record", warnings),
        Err(verdict) => *verdict,
    }
}

/// Reads an audit record; returns it with its warnings.
pub fn parse(bytes: &[u8]) -> Result<(Record, Vec<Finding>), Box<Verdict>> {
    let (value, warnings) = judged(bytes)?;
    match serde_json::from_value(value) {
        Ok(record) => Ok((record, warnings.sorted())),
        Err(error) => Err(whole(FailureCode::SchemaValidation, "type", error.to_string())),
    }
}

fn judged(bytes: &[u8]) -> Result<(Value, Findings), Box<Verdict>> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        let message = format!("the record has {}; the limit is {DOCUMENT_BYTES_MAX}", json::size(bytes));
        return Err(whole(FailureCode::ContextOverflow, "max_bytes", message));
    }
    let mut value = strict::parse(bytes).map_err(|malformed| {
        let message = format!("{malformed} at line {} column {}", malformed.line, malformed.column);
        whole(FailureCode::ParseFailure, "json", message)
    })?;
    let record = value["record_type"].as_str().and_then(RecordType::parse);
    let mut warnings = settle::settle(RECORD, &mut value);
    let mut faults = check::check(&Shape::Object(RECORD), &value, false);
    if let Some(record) = record.filter(|_| value["payload"].is_object()) {
        let payload = shape::payload(record);
        absorb(&mut warnings, settle::settle(payload, &mut value["payload"]));
        absorb(&mut faults, check::check(&Shape::Object(payload), &value["payload"], false));
        actor(record, &value["actor"], &mut faults, &mut warnings);
        session(record, &value, &mut warnings);
    }
    match faults.iter().min().cloned() {
        None => Ok((value, warnings)),
        Some(primary) => {
            let code = FailureCode::SchemaValidation.as_str();
            Err(Box::new(Verdict::denied(KIND, code, &primary, faults, warnings)))
        }
    }
}

/// Findings of the payload, placed below `$.payload`.
fn absorb(all: &mut Findings, payload: Findings) {
    all.omitted += payload.omitted;
    for finding in payload.sorted() {
        all.push(finding.path.replacen('$', "$.payload", 1), finding.rule, finding.message);
    }
}

fn actor(record: RecordType, actor: &Value, faults: &mut Findings, warnings: &mut Findings) {
    let Some(role) = actor["role"].as_str().and_then(ActorRole::parse) else { return };
    let usual = match record {
        RecordType::TaskDispatched | RecordType::RollbackEvent | RecordType::SessionSummary => {
            ActorRole::Orchestrator
        }
        RecordType::ResponseReceived => ActorRole::Executor,
        RecordType::RoutingDecision => ActorRole::Router,
        RecordType::GuardRailCheck => ActorRole::Governance,
    };
    match role {
        ActorRole::Specialist if record == RecordType::ResponseReceived => {}
        ActorRole::Specialist => {
            let message = "a SPECIALIST acts only in RESPONSE_RECEIVED";
            faults.push("$.actor.role", "role", message);
        }
        role if role != usual => {
            warnings.push("$.actor.role", "role", format!("{record} is usually recorded for {usual}"));
        }
        _ => {}
    }
}

fn session(record: RecordType, value: &Value, warnings: &mut Findings) {
    let payload = &value["payload"];
    let (path, named) = match record {
        RecordType::TaskDispatched => ("$.payload.session.session_id", &payload["session"]["session_id"]),
        RecordType::ResponseReceived => ("$.payload.session_id", &payload["session_id"]),
        _ => return,
    };
    if named.is_string() && *named != value["session_id"] {
        warnings.push(path, "session", "differs from the session of the record");
    }
}

fn whole(code: FailureCode, rule: &'static str, message: String) -> Box<Verdict> {
    let mut verdict = judge::whole(code, rule, message);
    KIND.clone_into(&mut verdict.details.kind);
    verdict
}
