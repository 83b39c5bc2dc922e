//! How the task is to be run: execution policy and guard rails, as written. What they amount to is in `effective`.

use serde::{Deserialize, Serialize};

use crate::aop::header::Extensions;
use crate::aop::task::Provider;
use crate::aop::word::words;

words! {
    OnFailure {
        ReportAndContinue = "REPORT_AND_CONTINUE",
        AbortSession = "ABORT_SESSION",
        Retry = "RETRY",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// An empty list means no waiting; an absent one means the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_backoff_seconds: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abort_on_first_critical_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_terminate_on_timeout: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternative_models: Vec<AlternativeModel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Heartbeat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    /// What makes an alternative model step in.
    FallbackTrigger {
        Timeout = "TIMEOUT",
        FirstError = "FIRST_ERROR",
        CriticalError = "CRITICAL_ERROR",
        AllErrors = "ALL_ERRORS",
        CostLimitExceeded = "COST_LIMIT_EXCEEDED",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlternativeModel {
    pub provider: Provider,
    pub model: String,
    pub fallback_trigger: FallbackTrigger,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

words! {
    OnHeartbeatFailure { Abort = "ABORT", Warn = "WARN", Continue = "CONTINUE" }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_missed_beats: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_heartbeat_failure: Option<OnHeartbeatFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardRails {
    /// Absent means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_minimal_report: Option<bool>,
    /// Absent means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_final_signal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_terminate_on_timeout: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abort_on_first_critical_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}
