//! What is to be done: the `task` member of a TASK.

use serde::{Deserialize, Serialize};

use super::phase::Validation;
use crate::aop::header::Extensions;
use crate::aop::priority;
use crate::aop::word::words;
use crate::domain::priority::Priority;

words! {
    Category {
        Analysis = "ANALYSIS",
        CodeGeneration = "CODE_GENERATION",
        CodeRefactoring = "CODE_REFACTORING",
        Testing = "TESTING",
        Debugging = "DEBUGGING",
        Documentation = "DOCUMENTATION",
        Planning = "PLANNING",
        Review = "REVIEW",
        Other = "OTHER",
    }
}

words! {
    Complexity { Low = "LOW", Medium = "MEDIUM", High = "HIGH", Critical = "CRITICAL" }
}

words! {
    /// How much network. The order is from the most restrictive to the least.
    Network { None = "NONE", Restricted = "RESTRICTED", Full = "FULL" }
}

/// One piece of work with everything its executor may know about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    /// Counted from 1; absent means 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    pub objective: String,
    pub category: Category,
    pub complexity: Complexity,
    #[serde(default, with = "priority::maybe", skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    pub environment: Environment,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_outputs: Vec<ExpectedOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Budgets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

impl Work {
    /// Work with nothing optional.
    pub fn new(
        task_id: impl Into<String>,
        objective: impl Into<String>,
        category: Category,
        complexity: Complexity,
        workspace_root: impl Into<String>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            parent_task_id: None,
            attempt: None,
            objective: objective.into(),
            category,
            complexity,
            priority: None,
            environment: Environment {
                workspace_root: workspace_root.into(),
                os: None,
                shell: None,
                git_branch: None,
                extensions: None,
            },
            inputs: Vec::new(),
            expected_outputs: Vec::new(),
            constraints: None,
            budgets: None,
            access: None,
            extensions: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub workspace_root: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Absent means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedOutput {
    #[serde(rename = "type")]
    pub kind: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_snapshot: Option<RollbackSnapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    /// `NONE` is read for the sake of older drafts and means that no snapshot is taken.
    SnapshotStrategy { Copy = "COPY", GitStash = "GIT_STASH", Diff = "DIFF", None = "NONE" }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RollbackSnapshot {
    /// Absent means false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_strategy: Option<SnapshotStrategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Constraints {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_mode: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation_allowed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_access: Option<Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budgets {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Access {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// Both lists are printed even when empty: an empty list grants nothing, an absent object grants the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filesystem {
    #[serde(default)]
    pub read_paths: Vec<String>,
    #[serde(default)]
    pub write_paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}
