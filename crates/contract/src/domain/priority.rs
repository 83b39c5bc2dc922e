//! One priority table for all contracts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How urgent a task is. The agent contract has an integer; every other contract uses one of these names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

impl Priority {
    /// Reads any contract's name: `low`, `NORMAL`, AEE's `urgent`.
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "low" => Some(Priority::Low),
            "normal" => Some(Priority::Normal),
            "high" => Some(Priority::High),
            "critical" | "urgent" => Some(Priority::Critical),
            _ => None,
        }
    }

    pub fn from_number(number: i64) -> Self {
        match number {
            ..0 => Priority::Low,
            0 => Priority::Normal,
            1..10 => Priority::High,
            10.. => Priority::Critical,
        }
    }

    /// The smallest of continuity's integers that maps to this priority.
    pub fn number(self) -> i64 {
        match self {
            Priority::Low => -1,
            Priority::Normal => 0,
            Priority::High => 1,
            Priority::Critical => 10,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
            Priority::Critical => "critical",
        }
    }

    /// AEE has no `critical`; its highest priority is `urgent`.
    pub fn aee(self) -> &'static str {
        if self == Priority::Critical { "urgent" } else { self.as_str() }
    }

    pub fn aop(self) -> &'static str {
        match self {
            Priority::Low => "LOW",
            Priority::Normal => "NORMAL",
            Priority::High => "HIGH",
            Priority::Critical => "CRITICAL",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_priority_survives_every_mapping() {
        for priority in [Priority::Low, Priority::Normal, Priority::High, Priority::Critical] {
            assert_eq!(Priority::from_number(priority.number()), priority);
            assert_eq!(Priority::parse(priority.aee()), Some(priority));
            assert_eq!(Priority::parse(priority.aop()), Some(priority));
        }
        assert_eq!(Priority::from_number(9), Priority::High);
        assert_eq!(Priority::parse("medium"), None);
    }
}
