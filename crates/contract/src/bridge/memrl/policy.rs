//! The policy document: its shape, its rules, and the one that is built in.

use serde::{Deserialize, Serialize};

use super::rollback::Threshold;
use super::{Action, BUCKETS, FAILURE_CLASSES, Mode};
use crate::aee::judge;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{Described, NATURAL, POSITIVE, Shape, UNBOUNDED, document, list, text};
use crate::verdict::Verdict;

const KIND: &str = "memrl_policy";

document! {
    /// Whether a failed gate is tried again or handed to a person.
    #[shape(name = "memrl_policy", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Policy {
        pub schema_version: i64 as Shape::Integer { min: 1, max: 1 },
        pub default_mode: Mode as MODE,
        pub unknown_failure_class_action: Action,
        pub missing_metadata_action: Action,
        /// For people; the order is fixed.
        pub tie_break_rules: Vec<String> as list!(SOME_TEXT, 1, UNBOUNDED),
        pub rules: Vec<Rule> as list!(Rule::SHAPE, 1, UNBOUNDED),
        pub rollback_matrix: Vec<Trigger> as list!(Trigger::SHAPE, 1, UNBOUNDED),
    }
}

document! {
    // One cell of the truth table, or several where it says `*`.
    #[shape(name = "memrl_rule", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Rule {
        pub rule_id: String as SOME_TEXT,
        pub memrl_mode: Mode as MODE,
        pub failure_class: String as Shape::Word(CLASS_WORDS),
        pub attempt_bucket: String as Shape::Word(BUCKET_WORDS),
        pub action: Action,
        pub priority: i64 as NATURAL,
    }
}

document! {
    // When the policy must be trusted less. Its commands are data: they are shown, never run.
    #[shape(name = "memrl_trigger", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Trigger {
        pub trigger_id: String as SOME_TEXT,
        pub metric: String as SOME_TEXT,
        pub metric_source_command: String as SOME_TEXT,
        pub lookback_window: String as SOME_TEXT,
        pub min_sample_size: i64 as POSITIVE,
        pub threshold: String as SOME_TEXT,
        pub operator_action: String as SOME_TEXT,
        pub verification_command: String as SOME_TEXT,
    }
}

const SOME_TEXT: Shape = text(1, UNBOUNDED);
const MODE: Shape = Shape::Word(&["off", "observe", "enforce"]);

const CLASS_WORDS: &[&str] = &{
    let [a, b, c, d, e, f, g] = FAILURE_CLASSES;
    ["*", a, b, c, d, e, f, g]
};
const BUCKET_WORDS: &[&str] = &{
    let [a, b, c, d] = BUCKETS;
    ["*", a, b, c, d]
};

/// Validates a policy. Strict: unknown fields and duplicate rule ids are faults.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => look(&document, strict).0,
        Err(refused) => *refused,
    }
}

/// Reads a policy, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<Policy, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    match look(&document, false) {
        (verdict, Some(policy)) if verdict.allow => Ok(policy),
        (verdict, _) => Err(Box::new(verdict)),
    }
}

fn look(document: &Value, strict: bool) -> (Verdict, Option<Policy>) {
    let mut findings = Findings::default();
    let version = document.get("schema_version").and_then(Value::as_i64);
    if version.is_some_and(|version| version != 1) {
        findings.push("$.schema_version", "version", "only version 1 is known");
    } else if is_other_shape(document) {
        let message = "rules with `match` belong to another policy that has the same name and version";
        findings.push("$.rules", "other_shape", message);
    } else {
        findings = judge::check(Policy::OBJECT, document, strict);
    }
    let mut policy = None;
    if findings.is_empty() {
        match Policy::deserialize(document) {
            Ok(read) => policy = Some(read),
            Err(error) => findings.push("$", "type", error.to_string()),
        }
    }
    let mut warnings = Findings::default();
    if let Some(policy) = &policy {
        let duplicates = if strict { &mut findings } else { &mut warnings };
        check_ids(policy, duplicates);
        check_triggers(policy, &mut warnings);
    }
    (judge::rule(KIND, "policy valid", findings, warnings), policy)
}

/// Another project published a different document under the same name; its rules match words.
fn is_other_shape(document: &Value) -> bool {
    let rules = document.get("rules").and_then(Value::as_array);
    rules.is_some_and(|rules| {
        rules.iter().any(|rule| rule.get("match").is_some() && rule.get("rule_id").is_none())
    })
}

fn check_ids(policy: &Policy, found: &mut Findings) {
    let mut seen = std::collections::BTreeSet::new();
    for (index, rule) in policy.rules.iter().enumerate().filter(|(_, rule)| !seen.insert(&rule.rule_id)) {
        let message = format!("`{}` is already used", rule.rule_id);
        found.push(format!("$.rules[{index}].rule_id"), "duplicate", message);
    }
}

fn check_triggers(policy: &Policy, warnings: &mut Findings) {
    for (index, trigger) in policy.rollback_matrix.iter().enumerate() {
        let readable = Threshold::parse(&trigger.threshold).is_some_and(|t| t.metric == trigger.metric);
        if !readable {
            let message = format!("cannot be evaluated; `{} > 0.5` could", trigger.metric);
            warnings.push(format!("$.rollback_matrix[{index}].threshold"), "threshold", message);
        }
        if super::rollback::window(&trigger.lookback_window).is_none() {
            let place = format!("$.rollback_matrix[{index}].lookback_window");
            warnings.push(place, "window", "cannot be evaluated; `24h` could");
        }
    }
}

impl Policy {
    /// The built-in policy: retry while there is budget; a blocked crank goes to a person directly.
    pub fn standard() -> Self {
        let mut rules = Vec::new();
        for mode in Mode::ALL {
            for class in FAILURE_CLASSES {
                rules.extend(BUCKETS.iter().map(|bucket| exact_rule(mode, class, bucket)));
            }
            rules.push(Rule {
                rule_id: format!("{}.fallback", mode.as_str()),
                memrl_mode: mode,
                failure_class: "*".to_owned(),
                attempt_bucket: "*".to_owned(),
                action: Action::Escalate,
                priority: 0,
            });
        }
        Self {
            schema_version: 1,
            default_mode: Mode::Off,
            unknown_failure_class_action: Action::Escalate,
            missing_metadata_action: Action::Escalate,
            tie_break_rules: [
                "an exact failure class and attempt bucket come before `*`",
                "then the higher priority",
                "then the rule id that sorts first",
            ]
            .map(str::to_owned)
            .to_vec(),
            rules,
            rollback_matrix: super::rollback::standard(),
        }
    }
}

fn exact_rule(mode: Mode, class: &str, bucket: &str) -> Rule {
    let hopeless = mode == Mode::Enforce && class == "crank_blocked";
    let spent = matches!(bucket, "final" | "overflow");
    Rule {
        rule_id: format!("{}.{class}.{bucket}", mode.as_str()),
        memrl_mode: mode,
        failure_class: class.to_owned(),
        attempt_bucket: bucket.to_owned(),
        action: if hopeless || spent { Action::Escalate } else { Action::Retry },
        priority: 100,
    }
}
