//! Halts: a person stops everything that writ started, and lifts that again. Also which programs work.

pub mod halt;
pub mod program;
pub mod resume_all;

use contract::domain::epoch::Halt;

use crate::context::Context;
use crate::decision::about_id;
use crate::error::Result;
use crate::record::About;

/// The halt that writ is in, if it is.
pub fn current(cx: &mut Context) -> Result<Option<Halt>> {
    Ok(cx.store.read()?.epoch()?.halt)
}

/// A halt belongs to the store, not to a project.
fn about(epoch: i64) -> About {
    about_id(&format!("epoch {epoch}"))
}
