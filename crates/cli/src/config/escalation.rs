//! `[escalation.PRIORITY]`: models for tasks that were made more urgent.

use std::path::Path;

use contract::domain::priority::Priority;
use contract::finding::Findings;
use contract::json::Value;
use contract::plan::executor;
use contract::shape::{Map, NON_BLANK, Object, Shape, Text, UNBOUNDED, Unknown, optional};
use engine::ExecutorKind;
use ops::Result;

use super::{Config, invalid};

pub(super) static ESCALATION: Object = Object {
    name: "escalation",
    about: "The models of escalated tasks, by the priority that they have now. Nothing can be escalated to low.",
    fields: &[
        optional("normal", MODELS, "For tasks that were low."),
        optional("high", MODELS, "For tasks that were normal or low."),
        optional("critical", MODELS, "For all others that are not critical in their plan."),
    ],
    unknown: Unknown::Refused,
};

/// The model of each executor.
const MODELS: Shape = Shape::Map(&Map { value: NON_BLANK, key: Text { min: 1, max: UNBOUNDED, form: None } });

pub(super) fn take_of_user(config: &mut Config, value: &Value, from: &Path) -> Result<()> {
    let mut findings = Findings::default();
    let tables = value.get("escalation").and_then(Value::as_object).into_iter().flatten();
    for (word, models) in tables {
        let Some(priority) = Priority::parse(word) else { continue };
        for (name, model) in models.as_object().into_iter().flatten() {
            let at = format!("$.escalation.{word}.{name}");
            let (name, known) = (name.to_lowercase(), &config.executors.known);
            let is_known = known.iter().any(|known| known.name.as_str() == name)
                || config.executors.commands.contains_key(&name);
            if !is_known {
                findings.push(at, "unknown_executor", executor::unknown(&name, known));
            } else if uses_no_model(config, &name) {
                findings.push(at, "unused", format!("`{name}` uses no model"));
            } else {
                let model = model.as_str().unwrap_or_default().to_owned();
                config.sources.push((format!("escalation.{word}.{name}"), model.clone(), from.to_owned()));
                config.executors.upgrades.set(priority, name, model);
            }
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(invalid(from, findings)) }
}

fn uses_no_model(config: &Config, name: &str) -> bool {
    let configured = config.configured.iter().find(|configured| configured.name.as_str() == name);
    let kind = configured.map_or_else(|| ExecutorKind::parse(name), |configured| Some(configured.kind));
    kind == Some(ExecutorKind::Shell)
}
