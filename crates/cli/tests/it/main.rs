//! Whole-product tests: the real binary, a real store, real children.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_plans;
mod bad_stores;
mod documents;
mod durable;
mod first_run;
mod keeping;
mod kill_nine;
mod layers;
mod outcomes;
mod processes;
mod read_back;
mod request_ids;
mod run_view;
mod serve;
mod signals;
mod surface;
mod tasks;
mod trace;
mod validate;
