//! The `task` member of a TASK: the work to do.

use serde::{Deserialize, Serialize};

use super::phase::Validation;
use crate::aop::header::{Extensions, NAME};
use crate::aop::limits::{INPUTS_MAX, OUTPUTS_MAX};
use crate::aop::priority;
use crate::domain::priority::Priority;
use crate::shape::words;
use crate::shape::{Described, POSITIVE, Shape, document, list};

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
    /// How much network access is allowed, from the most restrictive to the least.
    Network { None = "NONE", Restricted = "RESTRICTED", Full = "FULL" }
}

document! {
    // One unit of work with everything its executor may know about it.
    #[shape(name = "task", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Work {
        pub task_id: String as NAME,
        /// the task that delegated this one
        pub parent_task_id: Option<String>,
        /// counted from 1
        pub attempt: Option<u64> as Shape::Nullable(&POSITIVE),
        /// at most 40000 characters without a warning
        pub objective: String as NAME,
        pub category: Category,
        pub complexity: Complexity,
        /// NORMAL if absent
        #[serde(with = "priority::maybe")]
        pub priority: Option<Priority> as Shape::Nullable(&priority::SHAPE),
        pub environment: Environment,
        #[optional]
        pub inputs: Vec<Input> as list!(Input::SHAPE, 0, INPUTS_MAX),
        #[optional]
        pub expected_outputs: Vec<ExpectedOutput> as list!(ExpectedOutput::SHAPE, 0, OUTPUTS_MAX),
        /// the stricter of these and the budgets applies
        pub constraints: Option<Constraints>,
        pub budgets: Option<Budgets>,
        pub access: Option<Access>,
        pub extensions: Option<Extensions>,
    }
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

document! {
    #[shape(name = "environment", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Environment {
        pub workspace_root: String as NAME,
        pub os: Option<String>,
        pub shell: Option<String>,
        pub git_branch: Option<String>,
        pub extensions: Option<Extensions>,
    }
}

impl Input {
    /// A text that may only be read.
    pub fn text(content: &str) -> Self {
        Self {
            kind: "TEXT".to_owned(),
            path: None,
            content: Some(content.to_owned()),
            read_only: Some(true),
            extensions: None,
        }
    }
}

document! {
    #[shape(name = "input", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Input {
        /// such as FILE or TEXT
        #[serde(rename = "type")]
        pub kind: String,
        pub path: Option<String>,
        pub content: Option<String>,
        /// true if absent
        pub read_only: Option<bool>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "expected_output", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ExpectedOutput {
        /// such as FILE
        #[serde(rename = "type")]
        pub kind: String,
        pub description: String,
        pub path: Option<String>,
        pub validation: Option<Validation>,
        pub rollback_snapshot: Option<RollbackSnapshot>,
        pub extensions: Option<Extensions>,
    }
}

words! {
    /// `NONE` comes from older drafts and means that no snapshot is taken.
    SnapshotStrategy { Copy = "COPY", GitStash = "GIT_STASH", Diff = "DIFF", None = "NONE" }
}

document! {
    #[shape(name = "rollback_snapshot", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct RollbackSnapshot {
        /// false if absent
        pub enabled: Option<bool>,
        pub snapshot_path: Option<String>,
        pub snapshot_strategy: Option<SnapshotStrategy>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "constraints", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Constraints {
        pub max_tokens: Option<u64>,
        pub max_cost_usd: Option<f64>,
        /// false if absent
        pub read_only_mode: Option<bool>,
        /// false if absent
        pub delegation_allowed: Option<bool>,
        pub network_access: Option<Network>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "budgets", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Budgets {
        pub max_cost_usd: Option<f64>,
        pub max_tokens: Option<u64>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "access", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Access {
        pub filesystem: Option<Filesystem>,
        pub network: Option<Network>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    // Both lists are printed even when empty: an empty list grants nothing, an absent object grants the default.
    #[shape(name = "filesystem", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Filesystem {
        #[serde(default)]
        pub read_paths: Vec<String>,
        #[serde(default)]
        pub write_paths: Vec<String>,
        pub extensions: Option<Extensions>,
    }
}
