//! The published JSON Schemas: each kind's shape, and the rules between fields that a schema can express.
//!
//! Rules that a schema cannot express are listed in `vectors/beyond-schema.json`, each with an example document.

use serde_json::{Value, json};

use super::Kind;
use crate::aop::EventKind;
use crate::aop::audit::{self, RecordType};
use crate::bridge::{candidate, constraint, council, envelope, harvest, memrl, stage1};
use crate::shape::schema::Writer;
use crate::shape::{Object, Shape};
use crate::{aee, aocl, aop, continuity, operator, plan};

/// The schema of a kind; of a kind with one document per line, the schema of a line. `None` for text.
pub fn of(kind: Kind, strict: bool) -> Option<Value> {
    let mut writer = Writer::new(strict);
    let root = root(kind, &mut writer)?;
    Some(writer.finish(kind.about(), root))
}

fn root(kind: Kind, writer: &mut Writer) -> Option<Value> {
    let root = match kind {
        Kind::Assignment => operator_document(writer, operator::Assignment::OBJECT),
        Kind::Locks => operator_document(writer, &operator::locks::LOCK_TABLE),
        Kind::Result => operator_document(writer, operator::SubagentResult::OBJECT),
        Kind::Worklog | Kind::WorklogEntry => operator_document(writer, operator::WorklogEntry::OBJECT),
        Kind::Handoff => operator_document(writer, operator::Handoff::OBJECT),
        Kind::Orchestrator => orchestrator_output(writer),
        Kind::Deltas => operator_document(writer, &operator::ledger::LEDGER_DELTAS),
        Kind::Reconcile => operator_document(writer, &operator::reconcile::RECONCILE),
        Kind::Watchdog => operator_document(writer, &operator::watchdog::WATCHDOG),
        Kind::Aop => aop_message(writer),
        Kind::AopAudit => audit_record(writer),
        Kind::Aee | Kind::Trace => aee_envelope(writer),
        Kind::Stack => stack(writer),
        Kind::Bridge => bridge_envelope(writer),
        Kind::Candidate => object(writer, &candidate::CANDIDATE),
        Kind::Harvest => object(writer, harvest::HarvestCandidate::OBJECT),
        Kind::Constraint => quarantine(writer),
        Kind::Stage1 => stage1_result(writer),
        Kind::Memrl => object(writer, memrl::policy::Policy::OBJECT),
        Kind::Council => object(writer, &council::JUDGEMENT),
        Kind::Continuity => answer(writer),
        Kind::Plan => object(writer, plan::shapes::PLAN),
        Kind::Learning | Kind::Pattern | Kind::Promise | Kind::Ratchet => return None,
    };
    Some(root)
}

fn object(writer: &mut Writer, object: &'static Object) -> Value {
    writer.node(&Shape::Object(object))
}

/// Every kind of event has its own shape.
fn aop_message(writer: &mut Writer) -> Value {
    let mut nodes = vec![object(writer, aop::Task::OBJECT), object(writer, aop::Response::OBJECT)];
    for kind in EventKind::ALL {
        let mut node = object(writer, aop::event::shape::of(*kind));
        node["properties"] = json!({"event": {"const": kind.as_str()}});
        nodes.push(node);
    }
    json!({ "anyOf": nodes })
}

/// An operator document: any version of the first major one.
fn operator_document(writer: &mut Writer, document: &'static Object) -> Value {
    let mut root = object(writer, document);
    if document.fields.iter().any(|field| field.name == "schema_version") {
        root["properties"] = json!({"schema_version": {"pattern": "^1(\\.[0-9]+){0,2}$"}});
    }
    root
}

/// Every assignment of a round is an assignment document.
fn orchestrator_output(writer: &mut Writer) -> Value {
    let packet = operator_document(writer, operator::Assignment::OBJECT);
    let mut root = operator_document(writer, operator::OrchestratorOutput::OBJECT);
    root["properties"]["assignments"] = json!({ "items": packet });
    root
}

/// `then` applies if the members have these values.
fn when(members: &[(&str, Value)], then: &Value) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        members.iter().map(|(name, value)| ((*name).to_owned(), json!({ "const": value }))).collect();
    json!({"if": {"properties": properties, "required": names}, "then": then})
}

fn audit_record(writer: &mut Writer) -> Value {
    let mut root = object(writer, audit::shape::RECORD);
    let mut rules = Vec::new();
    for record in RecordType::ALL {
        let payload = object(writer, audit::shape::payload(*record));
        rules.push(when(
            &[("record_type", json!(record.as_str()))],
            &json!({"properties": {"payload": payload}}),
        ));
    }
    root["allOf"] = Value::Array(rules);
    root
}

fn aee_envelope(writer: &mut Writer) -> Value {
    let mut root = object(writer, &aee::shape::ENVELOPE);
    let reply = json!({"type": "string", "minLength": aee::shape::ID_CHARS_MIN});
    let answers: Vec<&str> =
        aee::Type::ALL.iter().filter(|kind| kind.is_answer()).map(|kind| kind.as_str()).collect();
    let mut rules = vec![json!({
        "if": {"properties": {"type": {"enum": answers}}, "required": ["type"]},
        "then": {"properties": {"reply_to": reply}, "required": ["reply_to"]},
    })];
    for intent in aee::intents::ALL {
        for kind in aee::Type::ALL.iter().copied() {
            let Some(shape) = aee::intents::payload_shape(intent, kind) else { continue };
            let mut payload = object(writer, shape);
            if (intent, kind) == (aee::intents::STATUS_PING, aee::Type::Result) {
                payload["properties"] = json!({"pong": {"const": true}});
            }
            let members = [("intent", json!(intent)), ("type", json!(kind.as_str()))];
            rules.push(when(&members, &json!({"properties": {"payload": payload}})));
        }
    }
    root["allOf"] = Value::Array(rules);
    root
}

fn stack(writer: &mut Writer) -> Value {
    let mut root = object(writer, &aocl::stack::check::STACK);
    root["allOf"] = json!([
        when(
            &[("mode", json!("pipeline"))],
            &json!({"required": ["layers"], "properties": {"nodes": false, "edges": false}}),
        ),
        when(
            &[("mode", json!("dag"))],
            &json!({"required": ["nodes", "edges"], "properties": {"layers": false}}),
        ),
    ]);
    root
}

fn bridge_envelope(writer: &mut Writer) -> Value {
    let mut root = object(writer, &envelope::ENVELOPE);
    let payload = object(writer, stage1::Stage1Result::OBJECT);
    let then = json!({"properties": {"payload": payload}});
    root["allOf"] = json!([when(&[("operation", json!(stage1::OPERATION))], &then)]);
    root
}

/// A result itself, or in its envelope.
fn stage1_result(writer: &mut Writer) -> Value {
    let result = object(writer, stage1::Stage1Result::OBJECT);
    let mut enveloped = writer.leniently(|writer| object(writer, &envelope::ENVELOPE));
    enveloped["properties"] = json!({"payload": result.clone()});
    json!({"if": {"type": "object", "required": ["contract"]}, "then": enveloped, "else": result})
}

/// A bare list, or a version and the list.
fn quarantine(writer: &mut Writer) -> Value {
    let list = writer.node(&Shape::List(&constraint::CONSTRAINTS));
    let file = object(writer, &constraint::QUARANTINE);
    json!({"anyOf": [list, file]})
}

fn answer(writer: &mut Writer) -> Value {
    let mut root = object(writer, &continuity::envelope::ENVELOPE);
    let errors: serde_json::Map<String, Value> =
        continuity::envelope::ONLY_ON_FAILURE.iter().map(|name| ((*name).to_owned(), json!(false))).collect();
    root["allOf"] = json!([
        when(&[("success", json!(true))], &json!({"required": ["data"], "properties": errors})),
        when(&[("success", json!(false))], &json!({"required": ["error"], "properties": {"data": false}})),
    ]);
    root
}

#[cfg(test)]
mod tests;
