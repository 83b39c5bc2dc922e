//! What the store promises, shown on real files.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail like one")]

mod chain;
mod child;
mod crash;
mod full;
mod numbers;
mod opening;
mod replay;
mod requests;
mod transfer;
mod writers;
