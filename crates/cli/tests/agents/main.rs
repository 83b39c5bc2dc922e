//! Tests with real agent programs that talk to a stub model: `cargo xtask test --agents`. `lab.rs` explains how to write one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod executors;
mod lab;
mod loops;
mod sandbox;
mod sessions;
mod turns;
