//! Evaluates the policy and decides what to do.

use serde::{Deserialize, Serialize};

use super::{Action, FAILURE_CLASSES, Mode, Policy, Rule, bucket, legacy_action};

/// A failed gate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct FailedGate {
    /// An unknown mode means the policy's default.
    pub memrl_mode: String,
    pub failure_class: String,
    /// Computed from the attempt where it is empty.
    pub attempt_bucket: String,
    pub attempt: i64,
    pub max_attempts: i64,
    pub metadata_present: bool,
}

/// What the policy says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyDecision {
    pub memrl_mode: Mode,
    pub failure_class: String,
    pub attempt_bucket: String,
    pub action: Action,
    pub rule_id: String,
    pub reason: &'static str,
    pub metadata_present: bool,
}

/// The decision, and the policy's answer if it was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gate {
    pub action: Action,
    pub decision: Option<PolicyDecision>,
}

/// Decides whether a gate is tried again. Only `enforce` follows the policy; `off` does not evaluate it.
pub fn decide(policy: &Policy, input: &FailedGate) -> Gate {
    let legacy = legacy_action(input.attempt, input.max_attempts);
    match Mode::parse(&input.memrl_mode).unwrap_or(policy.default_mode) {
        Mode::Off => Gate { action: legacy, decision: None },
        Mode::Observe => Gate { action: legacy, decision: Some(evaluate(policy, input)) },
        Mode::Enforce => {
            let decision = evaluate(policy, input);
            Gate { action: decision.action, decision: Some(decision) }
        }
    }
}

/// Looks the case up in the policy.
pub fn evaluate(policy: &Policy, input: &FailedGate) -> PolicyDecision {
    let mode = Mode::parse(&input.memrl_mode).unwrap_or(policy.default_mode);
    let bucket = match input.attempt_bucket.as_str() {
        "" => bucket(input.attempt, input.max_attempts),
        given => given,
    };
    let class = input.failure_class.as_str();
    let known_enough = !class.is_empty() && !bucket.is_empty();
    let decision = |action: Action, rule_id: &str, reason: &'static str| PolicyDecision {
        memrl_mode: mode,
        failure_class: class.to_owned(),
        attempt_bucket: bucket.to_owned(),
        action,
        rule_id: rule_id.to_owned(),
        reason,
        metadata_present: input.metadata_present || known_enough,
    };
    if !known_enough {
        return decision(policy.missing_metadata_action, "default.missing_metadata", "missing_metadata");
    }
    if !FAILURE_CLASSES.contains(&class) {
        let action = policy.unknown_failure_class_action;
        return decision(action, "default.unknown_failure_class", "unknown_failure_class");
    }
    if let Some(rule) = best_rule(policy, mode, class, bucket) {
        return decision(rule.action, &rule.rule_id, "rule_match_specificity_priority_rule_id");
    }
    decision(policy.unknown_failure_class_action, "default.no_matching_rule", "no_matching_rule")
}

/// The more specific rule, then the one with the higher priority, then the one whose id sorts first.
fn best_rule<'p>(policy: &'p Policy, mode: Mode, class: &str, bucket: &str) -> Option<&'p Rule> {
    let fits = |rule: &&Rule| {
        rule.memrl_mode == mode
            && (rule.failure_class == class || rule.failure_class == "*")
            && (rule.attempt_bucket == bucket || rule.attempt_bucket == "*")
    };
    let exactness =
        |rule: &Rule| usize::from(rule.failure_class != "*") + usize::from(rule.attempt_bucket != "*");
    policy.rules.iter().filter(fits).min_by_key(|rule| {
        (std::cmp::Reverse(exactness(rule)), std::cmp::Reverse(rule.priority), &rule.rule_id)
    })
}
