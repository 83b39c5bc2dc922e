//! Which model the next attempt of an escalated task uses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::choice::standing;
use crate::domain::attempt::Attempt;
use crate::domain::failure_code::FailureCode;
use crate::domain::plan::PlanTask;
use crate::domain::priority::Priority;

/// Models for escalated tasks: by priority, then by the name of an executor, or of an agent or a provider of TASKs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upgrades(BTreeMap<Priority, BTreeMap<String, String>>);

/// Why the next attempt of a task uses the model that it would use anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotUpgraded {
    /// It is not more urgent than its author said.
    NotUrgent,
    /// It uses this one of the task's alternatives, counted from 0, with the model that its author named.
    Alternative(usize),
    /// There is no model for its executor.
    NotConfigured,
    /// An attempt showed that this model is not available.
    Unavailable(String),
}

impl Upgrades {
    /// `name` is in lower case.
    pub fn set(&mut self, priority: Priority, name: String, model: String) {
        self.0.entry(priority).or_default().insert(name, model);
    }

    /// The model of the highest configured priority that an escalation from `planned` to `now` has reached.
    fn configured(&self, planned: Priority, now: Priority, names: &[String]) -> Option<&str> {
        let reached = self.0.iter().rev().filter(|(priority, _)| planned < **priority && **priority <= now);
        let mut models = reached.filter_map(|(_, models)| names.iter().find_map(|name| models.get(name)));
        models.next().map(String::as_str)
    }
}

/// The model that the next attempt uses because the task was escalated: its priority is higher than its author gave it.
pub fn upgrade<'u>(
    upgrades: &'u Upgrades,
    (spec, now): (&PlanTask, Priority),
    attempts: &[Attempt],
) -> Result<&'u str, NotUpgraded> {
    if now <= spec.priority {
        return Err(NotUpgraded::NotUrgent);
    }
    // Their author chose them for a failure, and with a model that their program has.
    if let Some(index) = standing(spec, attempts).next_alternative() {
        return Err(NotUpgraded::Alternative(index));
    }
    let configured = upgrades.configured(spec.priority, now, &names(spec));
    let model = configured.ok_or(NotUpgraded::NotConfigured)?;
    let is_unavailable = |attempt: &Attempt| {
        let code = attempt.outcome.as_ref().and_then(|outcome| outcome.code.as_deref());
        attempt.begun.model.as_deref() == Some(model) && code == Some(FailureCode::ModelUnavailable.as_str())
    };
    if attempts.iter().any(is_unavailable) {
        return Err(NotUpgraded::Unavailable(model.to_owned()));
    }
    Ok(model)
}

/// What the program of a task is called in the configuration: a TASK names an agent and a provider.
fn names(spec: &PlanTask) -> Vec<String> {
    let target =
        |field: &str| spec.aop.as_ref()?.pointer(&format!("/target/{field}")).and_then(Value::as_str);
    let of_task = ["agent_name", "provider"].into_iter().filter_map(target).map(str::to_lowercase);
    of_task.chain([spec.executor.as_str().to_owned()]).collect()
}

#[cfg(test)]
mod tests;
