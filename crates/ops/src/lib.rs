//! The product's verbs: one typed request, one typed answer, one function each, listed in one registry.

pub mod agent;
pub mod aop_event;
pub mod aop_session;
pub mod approval;
pub mod artifact;
pub mod assignment;
pub mod audit;
pub mod budget;
pub mod context;
pub mod crew;
pub mod document;
pub mod epoch;
pub mod error;
pub mod event;
pub mod gc;
pub mod handoff;
pub mod heartbeat;
pub mod host;
pub mod inside;
pub mod ledger;
pub mod limit_window;
pub mod lock;
pub mod memory;
pub mod names;
pub mod orchestrate;
pub mod policy;
pub mod push;
pub mod registry;
pub mod result;
pub mod resume;
pub mod rollback;
pub mod run;
pub mod salvage;
pub mod session;
pub mod snapshots;
pub mod status;
pub mod task;
pub mod token;
pub mod transfer;
pub mod trust;
pub mod verb;
pub mod verdict;
pub mod vybe;
pub mod watchdog;
pub mod worklog;
pub mod worktree;

mod checking;
mod decision;
mod limit;
mod once;
mod record;

pub use checking::pinnable;
pub use context::{Caller, Context, Session};
pub use error::{Error, Result};
pub use host::Host;
pub use once::Reply;
pub use record::scrubbed;
pub use store::{LoggedEvent, StoreFault, Tip, Verification, files_of, is_store, names_of};

/// Where the key of a store is.
pub fn key_file(store: &std::path::Path) -> std::path::PathBuf {
    store::StoreKey::path_of(store)
}
