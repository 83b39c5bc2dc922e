//! The `MemRL` retry policy: whether a failed gate is tried again or handed to a person. Deterministic, without a clock.

pub mod evaluate;
pub mod policy;
pub mod rollback;

pub use evaluate::{FailedGate, Gate, PolicyDecision, decide, evaluate};
pub use policy::{Policy, Rule, Trigger, parse, validate};

use serde::{Deserialize, Serialize};

use crate::shape::words;

/// How far the policy is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is not evaluated.
    #[default]
    Off,
    /// It is evaluated and not followed.
    Observe,
    /// It is followed.
    Enforce,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Off, Mode::Observe, Mode::Enforce];

    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| word.trim().eq_ignore_ascii_case(mode.as_str()))
    }

    /// The mode of `MEMRL_MODE`; unknown words mean off.
    pub fn from_env(word: &str) -> Self {
        Self::parse(word).unwrap_or(Mode::Off)
    }

    /// One step less trust.
    #[must_use]
    pub fn demoted(self) -> Self {
        match self {
            Mode::Off | Mode::Observe => Mode::Off,
            Mode::Enforce => Mode::Observe,
        }
    }
}

words! {
    Action {
        Retry = "retry",
        Escalate = "escalate",
    }
}

/// The kinds of failure the policy knows.
pub const FAILURE_CLASSES: [&str; 7] = [
    "pre_mortem_fail",
    "crank_blocked",
    "crank_partial",
    "vibe_fail",
    "phase_timeout",
    "phase_stall",
    "phase_exit_error",
];

/// Where in its budget of attempts a gate is.
pub const BUCKETS: [&str; 4] = ["initial", "middle", "final", "overflow"];

/// The bucket of an attempt; the first test that holds decides.
pub fn bucket(attempt: i64, max_attempts: i64) -> &'static str {
    match (attempt, max_attempts) {
        (_, ..=0) => "overflow",
        (..=1, _) => "initial",
        (attempt, max) if attempt < max => "middle",
        (attempt, max) if attempt == max => "final",
        _ => "overflow",
    }
}

/// The failure class of a phase's verdict; an unknown verdict becomes its own, unknown class.
pub fn classify(phase: u32, verdict: &str) -> String {
    let verdict = verdict.trim().to_ascii_uppercase();
    let class = match (phase, verdict.as_str()) {
        (1, "FAIL") => "pre_mortem_fail",
        (2, "BLOCKED") => "crank_blocked",
        (2, "PARTIAL") => "crank_partial",
        (3, "FAIL") => "vibe_fail",
        (_, "TIMEOUT") => "phase_timeout",
        (_, "STALL") => "phase_stall",
        (_, "EXIT_ERROR") => "phase_exit_error",
        _ => return verdict.to_ascii_lowercase(),
    };
    class.to_owned()
}

/// The behavior without a policy: retry until the budget is used up.
pub fn legacy_action(attempt: i64, max_retries: i64) -> Action {
    if attempt >= max_retries { Action::Escalate } else { Action::Retry }
}

#[cfg(test)]
mod tests;
