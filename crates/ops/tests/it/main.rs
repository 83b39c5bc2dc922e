//! What the product's verbs promise, each on a store of its own.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail like one")]

mod checks;
mod claims;
mod clock;
mod confined;
mod crew;
mod crew_documents;
mod crew_done;
mod crew_foreign;
mod crew_host;
mod crew_progress;
mod crew_refusals;
mod crew_rounds;
mod crew_vectors;
mod crew_world;
mod decisions;
mod delegated_runs;
mod dependencies;
mod engine_grants;
mod escalations;
mod gc;
mod handoff;
mod host;
mod idempotency;
mod limit_windows;
mod memory;
mod money;
mod names;
mod nested_money;
mod push;
mod resume;
mod rollbacks;
mod runs;
mod secrets;
mod sessions;
mod shapes;
mod storm;
mod tokens;
mod walk;
mod worklogs;
mod worktrees;
mod world;
