//! When the policy must be trusted less: thresholds, windows, and the mode that follows.

use std::time::Duration;

use super::{Mode, Trigger};

/// `metric > 0.35`, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    pub metric: String,
    pub comparison: Comparison,
    pub number: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Threshold {
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (metric, comparison, number) = (words.next()?, words.next()?, words.next()?);
        let comparison = match comparison {
            ">" => Comparison::Above,
            ">=" => Comparison::AtLeast,
            "<" => Comparison::Below,
            "<=" => Comparison::AtMost,
            "==" => Comparison::Equal,
            _ => return None,
        };
        let number = number.parse::<f64>().ok().filter(|number| number.is_finite())?;
        words.next().is_none().then(|| Self { metric: metric.to_owned(), comparison, number })
    }

    #[expect(clippy::float_cmp, reason = "a threshold of exactly this number means exactly this number")]
    pub fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Above => value > self.number,
            Comparison::AtLeast => value >= self.number,
            Comparison::Below => value < self.number,
            Comparison::AtMost => value <= self.number,
            Comparison::Equal => value == self.number,
        }
    }
}

/// Reads a lookback window: whole minutes, hours or days.
pub fn window(text: &str) -> Option<Duration> {
    let unit_at = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at))?;
    let number: u64 = text[..unit_at].parse().ok()?;
    let seconds = match &text[unit_at..] {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// The result of comparing a trigger with a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firing {
    Fired,
    Quiet,
    /// Too few samples to say.
    Insufficient,
    /// The threshold cannot be read; a person must look.
    Unreadable,
}

/// Compares a measurement of the trigger's metric, taken from this many samples, with its threshold.
pub fn fires(trigger: &Trigger, value: f64, samples: i64) -> Firing {
    match Threshold::parse(&trigger.threshold).filter(|threshold| threshold.metric == trigger.metric) {
        None => Firing::Unreadable,
        Some(_) if samples < trigger.min_sample_size => Firing::Insufficient,
        Some(threshold) if threshold.holds(value) => Firing::Fired,
        Some(_) => Firing::Quiet,
    }
}

/// The mode after some triggers fired: the lowest any of them asks for, otherwise one step down. Never up.
pub fn demote<'t>(current: Mode, fired: impl IntoIterator<Item = &'t Trigger>) -> Mode {
    let target = |trigger: &Trigger| {
        let asked = trigger.operator_action.split_once("MEMRL_MODE=").and_then(|(_, rest)| {
            let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            Mode::parse(word)
        });
        asked.filter(|mode| *mode < current).unwrap_or(current.demoted())
    };
    fired.into_iter().map(target).min().unwrap_or(current)
}

/// The triggers of the built-in policy.
pub(super) fn standard() -> Vec<Trigger> {
    let trigger = |[
        trigger_id,
        metric,
        metric_source_command,
        lookback_window,
        threshold,
        operator_action,
        verification_command,
    ]: [&str; 7],
                   min_sample_size| Trigger {
        trigger_id: trigger_id.to_owned(),
        metric: metric.to_owned(),
        metric_source_command: metric_source_command.to_owned(),
        lookback_window: lookback_window.to_owned(),
        min_sample_size,
        threshold: threshold.to_owned(),
        operator_action: operator_action.to_owned(),
        verification_command: verification_command.to_owned(),
    };
    vec![
        trigger(
            [
                "enforce_escalation_rate_high",
                "escalation_rate",
                "ao rpi status --output json",
                "24h",
                "escalation_rate > 0.35",
                "set MEMRL_MODE=observe and run again from validation",
                "MEMRL_MODE=observe ao rpi status --output json",
            ],
            10,
        ),
        trigger(
            [
                "unknown_failure_class_ratio_high",
                "unknown_failure_class_ratio",
                "ao rpi status --output json",
                "48h",
                "unknown_failure_class_ratio > 0.10",
                "set MEMRL_MODE=off and correct the mapping of failure classes",
                "MEMRL_MODE=off ao rpi status --output json",
            ],
            5,
        ),
        trigger(
            [
                "missing_policy_metadata_detected",
                "missing_metadata_count",
                "ao rpi status --output json",
                "24h",
                "missing_metadata_count >= 1",
                "set MEMRL_MODE=off and repair what reports failures",
                "MEMRL_MODE=off ao rpi status --output json",
            ],
            1,
        ),
    ]
}
