//! Phases and the checkpoints in them.

use serde::{Deserialize, Serialize};

use crate::aop::header::{Extensions, NAME};
use crate::aop::task::RollbackSnapshot;
use crate::domain::report::CheckpointStatus;
use crate::shape::{document, words};

document! {
    #[shape(name = "phase", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Phase {
        pub phase_id: String as NAME,
        /// phases run in ascending order
        pub phase_order: i64,
        pub label: String,
        pub objective: String,
        /// at most 20 without a warning
        #[optional]
        pub checkpoints: Vec<Checkpoint>,
        pub extensions: Option<Extensions>,
    }
}

words! {
    /// What to do when a checkpoint fails. `SKIP` comes from older drafts and means `CONTINUE`.
    RecoveryStrategy { Retry = "RETRY", Abort = "ABORT", Continue = "CONTINUE", Skip = "SKIP" }
}

document! {
    #[shape(name = "checkpoint", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Checkpoint {
        pub checkpoint_id: String as NAME,
        pub description: String,
        #[optional]
        pub expected_artifacts: Vec<Artifact>,
        pub validation: Option<Validation>,
        /// PENDING if absent
        pub status: Option<CheckpointStatus>,
        pub recovery_strategy: Option<RecoveryStrategy>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    // What a checkpoint expects to find. Like an expected output, but the contract's example has no description.
    #[shape(name = "expected_artifact", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Artifact {
        /// such as FILE
        #[serde(rename = "type")]
        pub kind: String,
        pub description: Option<String>,
        pub path: Option<String>,
        pub validation: Option<Validation>,
        pub rollback_snapshot: Option<RollbackSnapshot>,
        pub extensions: Option<Extensions>,
    }
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

document! {
    #[shape(name = "validation", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Validation {
        pub command: String as NAME,
        /// what the command must show
        pub expects: Expects,
        pub extensions: Option<Extensions>,
    }
}
