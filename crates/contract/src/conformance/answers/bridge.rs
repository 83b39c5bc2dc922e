//! Answers to the questions of the bridge's vectors.

use serde_json::{Value, json};

use crate::bridge::candidate::LearningCandidate;
use crate::bridge::constraint::{self, Constraint};
use crate::bridge::memrl::{self, FailedGate, Mode, Policy};
use crate::bridge::{council, harvest, learning, promise, ratchet};

pub(super) fn answer(ask: &str, question: &Value) -> Option<Value> {
    let text = |name: &str| question[name].as_str();
    let number = |name: &str| question[name].as_i64();
    let want = match ask {
        "memrl-bucket" => json!(memrl::bucket(number("attempt")?, number("max_attempts")?)),
        "memrl-legacy-action" => json!(memrl::legacy_action(number("attempt")?, number("max_retries")?)),
        "memrl-mode" => json!(Mode::from_env(text("input")?)),
        "memrl-evaluate" => json!(memrl::evaluate(&policy(question)?, &input(&question["input"])?)),
        "ratchet-step" => json!(ratchet::step(text("input")?).unwrap_or_default()),
        "council-verdict" => json!(council::read_report(text("content")?).map(council::Outcome::as_str)),
        "promise-of-children" => json!(promise::of_children(text("bd_children")?)),
        _ => return other(ask, question),
    };
    Some(json!({ "want": want }))
}

fn other(ask: &str, question: &Value) -> Option<Value> {
    match ask {
        "memrl-classify" => {
            let phase = question["phase"].as_u64().and_then(|phase| u32::try_from(phase).ok())?;
            Some(json!({"want_contract": memrl::classify(phase, question["verdict"].as_str()?)}))
        }
        "memrl-cell" => {
            let mut cell = input(question)?;
            cell.metadata_present = true;
            let decision = memrl::evaluate(&Policy::standard(), &cell);
            Some(json!({"action": decision.action, "rule_id": decision.rule_id}))
        }
        "memrl-decide" => {
            let (policy, input) = (Policy::standard(), input(&question["input"])?);
            let said = memrl::evaluate(&policy, &input);
            let done = memrl::decide(&policy, &input);
            Some(json!({"action": said.action, "rule_id": said.rule_id, "gate": done.action}))
        }
        "constraint-filter" => {
            let all = constraints(question)?;
            let query = question["query"].as_str()?;
            let found: Vec<&Constraint> = all.iter().filter(|one| one.mentions(query)).collect();
            let first = found.first().map_or("", |constraint| constraint.pattern.as_str());
            Some(json!({"count": found.len(), "first": first}))
        }
        "constraint-markdown" => {
            let all = constraints(question)?;
            Some(json!({"markdown": constraint::markdown(&all).trim_end()}))
        }
        "harvest" => harvested(&question["harvest"]),
        _ => None,
    }
}

/// The standard policy, or with other rules.
fn policy(question: &Value) -> Option<Policy> {
    let mut policy = Policy::standard();
    if let Some(rules) = question.get("rules_override") {
        policy.rules = serde_json::from_value(rules.clone()).ok()?;
    }
    Some(policy)
}

fn input(value: &Value) -> Option<FailedGate> {
    serde_json::from_value(value.clone()).ok()
}

fn constraints(question: &Value) -> Option<Vec<Constraint>> {
    constraint::parse(question["constraints"].as_str()?.as_bytes()).ok()
}

/// What a harvest is converted to: a candidate, a file, a constraint.
fn harvested(document: &Value) -> Option<Value> {
    let candidate = LearningCandidate::from(harvest::parse(document.to_string().as_bytes()).ok()?);
    Some(json!({
        "candidate": candidate,
        "file_name": learning::file_name(&candidate.id),
        "file": learning::render(&candidate),
        "constraint": Constraint::from_candidate(&candidate),
    }))
}
