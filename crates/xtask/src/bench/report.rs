//! The results of a benchmark, as text and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::rounds::{Micros, Series};

pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) series: Vec<Series>,
    /// The pairs that are compared.
    pub(super) pairs: Vec<(usize, usize)>,
}

impl Report {
    /// Ours first, compared with each of the others.
    pub(super) fn of_first(name: &'static str, about: &'static str, series: Vec<Series>) -> Self {
        let pairs = (1..series.len()).map(|other| (0, other)).collect();
        Self { name, about, series, pairs }
    }

    pub(super) fn json(&self) -> Value {
        let contenders: Vec<Value> = self
            .series
            .iter()
            .map(|series| json!({"name": series.name, "median_us": round(series.median()), "rounds": series.costs.len()}))
            .collect();
        let ratios: Vec<Value> = self
            .comparisons()
            .map(|Comparison { of, to, ratio, more_us }| {
                json!({"of": of, "to": to, "ratio": round(ratio), "more_us": round(more_us)})
            })
            .collect();
        json!({"name": self.name, "about": self.about, "contenders": contenders, "ratios": ratios})
    }

    fn comparisons(&self) -> impl Iterator<Item = Comparison> {
        self.pairs.iter().map(|&(ours, other)| {
            let (ours, other) = (&self.series[ours], &self.series[other]);
            let (own, others) = (ours.median(), other.median());
            Comparison { of: ours.name, to: other.name, ratio: own / others, more_us: own - others }
        })
    }
}

/// One median against another.
struct Comparison {
    of: &'static str,
    to: &'static str,
    ratio: f64,
    /// How much more the first one takes.
    more_us: Micros,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.series[0].costs.len();
        writeln!(f, "{}: {} ({rounds} rounds, medians)", self.name, self.about)?;
        for series in &self.series {
            writeln!(f, "  {:<32} {:>9.3} ms", series.name, series.median() / 1000.0)?;
        }
        for Comparison { of, to, ratio, more_us } in self.comparisons() {
            let more_ms = more_us / 1000.0;
            writeln!(f, "  {:<32} {ratio:>9.2} x {more_ms:>+10.3} ms", format!("{of} / {to}"))?;
        }
        Ok(())
    }
}

/// More than three decimal places would be noise.
fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
