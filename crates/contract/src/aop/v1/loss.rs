//! What a task loses when it is written as a v1 prompt.

use serde::Serialize;
use serde_json::Value;

use crate::aop::task::Task;

/// Features that v1 has no structure for. The prompt still contains most of them as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "one independent claim per feature of the protocol")]
pub struct ConversionLoss {
    pub guard_rails_lost: bool,
    pub extensions_lost: bool,
    pub phases_lost: bool,
    pub budgets_lost: bool,
    pub checkpoints_lost: usize,
    pub structured_access_lost: bool,
    pub heartbeat_config_lost: bool,
    /// How many of the above are lost.
    pub total_features_lost: usize,
}

pub fn loss(task: &Task) -> ConversionLoss {
    let value = serde_json::to_value(task).expect("BUG: a task has only text keys and finite numbers");
    let mut loss = ConversionLoss {
        guard_rails_lost: task.guard_rails.is_some(),
        extensions_lost: has_extensions(&value),
        phases_lost: !task.phases.is_empty(),
        budgets_lost: task.task.budgets.is_some(),
        checkpoints_lost: task.phases.iter().map(|phase| phase.checkpoints.len()).sum(),
        structured_access_lost: task.task.access.is_some(),
        heartbeat_config_lost: task
            .execution_policy
            .as_ref()
            .is_some_and(|policy| policy.heartbeat.is_some()),
        total_features_lost: 0,
    };
    loss.total_features_lost = [
        loss.guard_rails_lost,
        loss.extensions_lost,
        loss.phases_lost,
        loss.budgets_lost,
        loss.checkpoints_lost > 0,
        loss.structured_access_lost,
        loss.heartbeat_config_lost,
    ]
    .into_iter()
    .filter(|lost| *lost)
    .count();
    loss
}

fn has_extensions(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("extensions") || fields.values().any(has_extensions),
        Value::Array(items) => items.iter().any(has_extensions),
        _ => false,
    }
}
