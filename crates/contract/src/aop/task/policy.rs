//! Execution policy and guard rails, as written. `effective` computes the values that apply.

use serde::{Deserialize, Serialize};

use crate::aop::header::Extensions;
use crate::aop::task::Provider;
use crate::domain::plan::policy::{FallbackTrigger, OnFailure, OnHeartbeatFailure};
use crate::shape::{NATURAL, POSITIVE, Shape, document, list};

document! {
    #[shape(name = "execution_policy", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct ExecutionPolicy {
        /// 1800 if absent
        pub timeout_seconds: Option<u64> as Shape::Nullable(&POSITIVE),
        /// 0 if absent
        pub max_retries: Option<u64>,
        // An empty list means no waiting; an absent one means the default.
        /// the wait before each retry; the last one repeats
        pub retry_backoff_seconds: Option<Vec<u64>> as list!(NATURAL),
        /// false if absent
        pub abort_on_first_critical_error: Option<bool>,
        /// true if absent
        pub auto_terminate_on_timeout: Option<bool>,
        /// REPORT_AND_CONTINUE if absent
        pub on_failure: Option<OnFailure>,
        /// tried in this order
        #[optional]
        pub alternative_models: Vec<AlternativeModel>,
        pub heartbeat: Option<Heartbeat>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "alternative_model", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct AlternativeModel {
        pub provider: Provider,
        pub model: String,
        pub fallback_trigger: FallbackTrigger,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "heartbeat", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Heartbeat {
        /// false if absent
        pub enabled: Option<bool>,
        /// 120 if absent
        pub interval_seconds: Option<u64> as Shape::Nullable(&POSITIVE),
        /// 3 if absent
        pub max_missed_beats: Option<u64> as Shape::Nullable(&POSITIVE),
        /// ABORT if absent
        pub on_heartbeat_failure: Option<OnHeartbeatFailure>,
        pub extensions: Option<Extensions>,
    }
}

document! {
    #[shape(name = "guard_rails", unknown = Refused, null = absent)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct GuardRails {
        /// true if absent
        pub require_minimal_report: Option<bool>,
        /// true if absent
        pub require_final_signal: Option<bool>,
        pub auto_terminate_on_timeout: Option<bool>,
        /// overrides the execution policy
        pub timeout_seconds: Option<u64> as Shape::Nullable(&POSITIVE),
        pub abort_on_first_critical_error: Option<bool>,
        pub extensions: Option<Extensions>,
    }
}
