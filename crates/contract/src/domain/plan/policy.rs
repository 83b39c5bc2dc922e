//! What happens to a task that is silent, late, or fails.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::shape::words;

words! {
    OnFailure {
        ReportAndContinue = "REPORT_AND_CONTINUE",
        AbortSession = "ABORT_SESSION",
        Retry = "RETRY",
    }
}

words! {
    /// What triggers an alternative model.
    FallbackTrigger {
        Timeout = "TIMEOUT",
        FirstError = "FIRST_ERROR",
        CriticalError = "CRITICAL_ERROR",
        AllErrors = "ALL_ERRORS",
        CostLimitExceeded = "COST_LIMIT_EXCEEDED",
    }
}

words! {
    OnHeartbeatFailure { Abort = "ABORT", Warn = "WARN", Continue = "CONTINUE" }
}

/// The rules of one task. The default is what a plan means that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPolicy {
    /// How often it has to give a sign of life; `None` if it may be silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<HeartbeatPolicy>,
    /// It may go on after its timeout and is only reported late.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_late: bool,
    /// A critical error ends it at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborts_on_critical: bool,
    /// What its failure means for the other tasks of its run.
    #[serde(default = "continues", skip_serializing_if = "is_continuing")]
    pub on_failure: OnFailure,
}

impl Default for TaskPolicy {
    fn default() -> Self {
        Self { heartbeat: None, may_be_late: false, aborts_on_critical: false, on_failure: continues() }
    }
}

impl TaskPolicy {
    /// As a condition of serde, which passes a reference.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The signs of life that a task has to give. Whatever it prints is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatPolicy {
    pub interval_ms: u64,
    pub missed_max: u64,
    pub on_failure: OnHeartbeatFailure,
}

impl HeartbeatPolicy {
    /// Silence longer than this is a failure.
    pub fn silence_max(&self) -> Duration {
        Duration::from_millis(self.interval_ms.saturating_mul(self.missed_max.max(1)))
    }
}

fn continues() -> OnFailure {
    OnFailure::ReportAndContinue
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_continuing(rule: &OnFailure) -> bool {
    *rule == continues()
}
