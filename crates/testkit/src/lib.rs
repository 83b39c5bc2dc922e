//! Shared test tools: a manual clock, seeded ids, a hermetic `writ` runner, a scripted agent.

mod binary;
mod cli;
mod clock;
mod ids;
mod output;
mod pong;
pub mod process;
mod scratch;
mod soak;
mod store;
mod terminal;
mod wait;

pub use self::store::{TempStore, event};
pub use binary::fake_agent;
pub use cli::{Background, Call, Cli};
pub use clock::ManualClock;
pub use ids::SeededIds;
pub use output::Output;
pub use pong::pong_server;
pub use process::has_namespaces;
pub use rustix::process::Signal;
pub use scratch::{Scratch, private_file};
pub use soak::{Storm, rounds};
pub use terminal::OnTerminal;
pub use wait::{PATIENCE, eventually, eventually_some};
