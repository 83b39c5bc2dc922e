//! Whole-product tests: the real binary, a real store, real children.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents_words;
mod answers;
mod aop_tasks;
mod bad_plans;
mod bad_stores;
mod continuity;
mod crew;
mod crew_guide;
mod crew_leases;
mod crowd;
mod documents;
mod durable;
mod first_run;
mod handoff;
mod hook_handlers;
mod hook_install;
mod hostile;
mod keeping;
mod kill_nine;
mod layers;
mod local;
mod loops;
mod memory;
mod old_stores;
mod opencode_bridge;
mod outcomes;
mod persona;
mod processes;
mod push;
mod read_back;
mod request_ids;
mod run_view;
mod serve;
mod signals;
mod status;
mod surface;
mod tasks;
mod trace;
mod two_runs;
mod validate;
mod vybe_import;
mod walk;
mod workers;
mod worklog;
