//! Phases and the checkpoints in them.

use serde::{Deserialize, Serialize};

use crate::aop::header::Extensions;
use crate::aop::task::RollbackSnapshot;
use crate::aop::word::words;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub phase_id: String,
    pub phase_order: i64,
    pub label: String,
    pub objective: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    /// `RECOVERED` is read for the sake of older drafts.
    CheckpointStatus {
        Pending = "PENDING",
        Pass = "PASS",
        Fail = "FAIL",
        Skip = "SKIP",
        Recovered = "RECOVERED",
    }
}

words! {
    /// What to do when a checkpoint fails. `SKIP` is read for the sake of older drafts and means `CONTINUE`.
    RecoveryStrategy { Retry = "RETRY", Abort = "ABORT", Continue = "CONTINUE", Skip = "SKIP" }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub checkpoint_id: String,
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// Absent means pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<CheckpointStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_strategy: Option<RecoveryStrategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// What a checkpoint expects to find. Like an expected output, but the contract's own example describes none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
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
    /// What a validation command must show.
    Expects {
        ExitCode0 = "EXIT_CODE_0",
        MatchFound = "MATCH_FOUND",
        NoMatch = "NO_MATCH",
        FileExists = "FILE_EXISTS",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub command: String,
    pub expects: Expects,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}
