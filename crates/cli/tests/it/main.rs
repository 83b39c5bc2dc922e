//! Whole-product tests: the real binary, a real store, real children.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_plans;
mod bad_stores;
mod documents;
mod first_run;
mod layers;
mod outcomes;
mod read_back;
mod surface;
mod tasks;
mod trace;
