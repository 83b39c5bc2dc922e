//! Runs contenders in alternating rounds.

use std::time::Duration;

use crate::Result;

/// One side of a comparison. Its function gets the number of the round and returns the cost of that round.
pub(super) struct Contender<'a> {
    pub(super) name: &'static str,
    pub(super) cost: Box<dyn FnMut(usize) -> Result<Micros> + 'a>,
}

/// Microseconds; a difference of two times may come out below zero on a noisy machine.
pub(super) type Micros = f64;

/// The cost of one contender in each round.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) costs: Vec<Micros>,
}

pub(super) fn contender<'a>(
    name: &'static str,
    cost: impl FnMut(usize) -> Result<Micros> + 'a,
) -> Contender<'a> {
    Contender { name, cost: Box::new(cost) }
}

/// Runs every contender once per round, in order. Round 0 warms up and does not count.
pub(super) fn interleave(rounds: usize, mut contenders: Vec<Contender<'_>>) -> Result<Vec<Series>> {
    let mut series: Vec<Series> =
        contenders.iter().map(|contender| Series { name: contender.name, costs: Vec::new() }).collect();
    for round in 0..=rounds {
        for (contender, series) in contenders.iter_mut().zip(&mut series) {
            let cost = (contender.cost)(round)?;
            if round > 0 {
                series.costs.push(cost);
            }
        }
    }
    Ok(series)
}

pub(super) fn micros(length: Duration) -> Micros {
    length.as_secs_f64() * 1_000_000.0
}

impl Series {
    pub(super) fn median(&self) -> Micros {
        let mut sorted = self.costs.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        }
    }
}
