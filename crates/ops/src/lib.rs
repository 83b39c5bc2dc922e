//! The product's verbs: one typed request, one typed answer, one function each, listed in one registry.

pub mod agent;
pub mod artifact;
pub mod audit;
pub mod context;
pub mod error;
pub mod event;
pub mod gc;
pub mod memory;
pub mod push;
pub mod registry;
pub mod resume;
pub mod run;
pub mod status;
pub mod task;
pub mod transfer;
pub mod vybe;

mod limit;
mod once;
mod record;

pub use context::{Caller, Context};
pub use error::{Error, Result};
pub use once::Given;
pub use record::scrubbed;
pub use store::{Event, Fault, Tip, Verification};
