//! Money is integer micro-USD: sums must be exact.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
pub struct MicroUsd(pub i64);

impl MicroUsd {
    /// The largest amount of a document. Larger ones are not exact.
    pub const DOLLARS_MAX: f64 = 1e9;

    /// Reads dollars as a document writes them. Refuses what is negative, not finite or too large to be exact.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        if !dollars.is_finite() || !(0.0..=Self::DOLLARS_MAX).contains(&dollars) {
            return None;
        }
        // At most 1e15, so the rounded value is an exact integer.
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked above")]
        let micros = (dollars * 1e6).round() as i64;
        Some(Self(micros))
    }

    /// Reads what a program says that it spent. `None` if that is no amount; what is beyond belief counts as the most that is
    /// believed, which no budget allows.
    pub fn reported(dollars: f64) -> Option<Self> {
        Self::from_dollars(dollars.min(limits::REPORTED_DOLLARS_MAX))
    }

    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53 micro-USD")]
        let micros = self.0 as f64;
        micros / 1e6
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        let text = format!("{sign}${}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let cents = text.len() - 4;
        let digits = text[cents..].trim_end_matches('0').len();
        f.pad(&text[..cents + digits])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_exact_micros() {
        assert_eq!(MicroUsd::from_dollars(0.1), Some(MicroUsd(100_000)));
        assert_eq!(MicroUsd::from_dollars(0.0), Some(MicroUsd(0)));
        for refused in [-0.01, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(MicroUsd::from_dollars(refused), None);
        }
        assert_eq!(MicroUsd::reported(9e9), MicroUsd::from_dollars(limits::REPORTED_DOLLARS_MAX));
        assert_eq!(MicroUsd::reported(-1.0), None);
    }

    #[test]
    fn money_prints_cents_and_more_only_where_needed() {
        assert_eq!(MicroUsd(500_000).to_string(), "$0.50");
        assert_eq!(MicroUsd(1_234_567).to_string(), "$1.234567");
        assert_eq!(MicroUsd(-20_000_000).to_string(), "-$20.00");
    }
}
