//! What the store promises, shown on real files.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail like one")]

mod child;
mod crash;
mod full;
mod numbers;
mod opening;
