//! Fields of the AOP TASK behind a run's task.

use contract::json::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TASK's own fields and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskMessage {
    pub task_id: Option<String>,
    pub parent_task_id: Option<String>,
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub role: Option<String>,
    pub category: Option<String>,
    pub complexity: Option<String>,
    pub initiator: Option<String>,
    pub spec_author: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub notes: Option<String>,
}

impl TaskMessage {
    pub(super) fn of(task: &Value) -> Self {
        let word = |pointer: &str| task.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let tags = task.pointer("/orchestration_metadata/tags").cloned().unwrap_or_default();
        Self {
            task_id: word("/task/task_id"),
            parent_task_id: word("/task/parent_task_id"),
            agent: word("/target/agent_name"),
            provider: word("/target/provider"),
            model: word("/target/model"),
            role: word("/target/role"),
            category: word("/task/category"),
            complexity: word("/task/complexity"),
            initiator: word("/orchestration_metadata/initiator"),
            spec_author: word("/orchestration_metadata/spec_author"),
            tags: serde_json::from_value(tags).unwrap_or_default(),
            notes: word("/orchestration_metadata/notes"),
        }
    }
}
