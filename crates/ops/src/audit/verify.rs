//! Checks the log: no event was changed, and none is missing.

use contract::domain::code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::{Tip, Verification};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Verify;

impl Verb for Verify {
    const NAME: &'static str = "audit.verify";
    const COMMAND: &'static str = "audit verify";
    const SUMMARY: &'static str = "Check that no event was changed and none is missing";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(verify);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// An earlier answer of `audit.tip`: also find what was removed since.
    #[serde(default)]
    pub tip: Option<Tip>,
    /// Also rebuild every table from the log and compare.
    #[serde(default)]
    pub replay: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub verification: Verification,
    /// Whether the tables were rebuilt. A log that `gc` shortened cannot rebuild them.
    pub replayed: bool,
    pub replay_differences: Vec<String>,
    /// How many old events `gc` removed.
    pub pruned_events: i64,
}

impl Answer {
    pub fn is_clean(&self) -> bool {
        self.verification.is_clean() && self.replay_differences.is_empty()
    }
}

pub fn verify(cx: &mut Context, request: &Request) -> Result<Answer> {
    let earlier = request.tip.clone().map(store::Tip::from);
    if earlier.as_ref().is_some_and(|tip| !tip.is_genuine()) {
        return Err(Error::new(ErrorCode::InvalidInput, "the tip's digest does not match its contents"));
    }
    let verification = Verification::from(super::verify(cx, earlier.as_ref())?);
    // The tables of a damaged file cannot be compared with anything.
    let readable = verification.damage.is_empty();
    let replay_differences =
        if request.replay && readable { super::replay_differences(cx)? } else { Vec::new() };
    let pruned_events = if readable { super::pruned(cx)? } else { 0 };
    let replayed = request.replay && readable && pruned_events == 0;
    Ok(Answer { verification, replayed, replay_differences, pruned_events })
}
