//! The plan file, in TOML or JSON: how it is read and checked.

pub mod choice;
pub mod document;
pub mod executor;
pub mod order;
pub mod project_checks;
pub mod read;
pub mod scopes;
pub mod shapes;
pub mod upgrade;
pub mod within;

use crate::domain::plan::Plan;

pub use executor::{CommandUse, KnownExecutor, PromptUse};

/// The fields of the TASKs of a plan that change nothing, each with the reason. Fields of several TASKs are named with the task.
pub fn without_effect(plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for task in &plan.tasks {
        let submitted = task.aop.clone().and_then(|value| serde_json::from_value(value).ok());
        let Some(submitted) = submitted else { continue };
        let fields = crate::aop::without_effect::of(&submitted);
        let named = |field: String| {
            if plan.tasks.len() == 1 { field } else { format!("{}: {field}", task.id) }
        };
        found.extend(fields.into_iter().map(named));
    }
    found
}
