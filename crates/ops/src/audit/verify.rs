//! Checks the store: no event and no row was changed, and none is missing.

use contract::domain::code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::AuditDepth;

use super::report::{LogTip, LogVerification};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Verify;

impl Verb for Verify {
    const NAME: &'static str = "audit.verify";
    const COMMAND: &'static str = "audit verify";
    const SUMMARY: &'static str = "Check that no event and no row was changed, and none is missing";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| verify(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// An earlier answer of `audit.tip`: also find what was removed since.
    #[serde(default)]
    pub tip: Option<LogTip>,
    /// Only the chain of the log: neither the file, the schema nor the tables.
    #[serde(default)]
    pub quick: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub verification: LogVerification,
    /// Whether the tables were rebuilt from the log and compared.
    pub replayed: bool,
    /// Why they could not be, if they could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_replayed: Option<String>,
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
    let depth = if request.quick { AuditDepth::Chain } else { AuditDepth::Full };
    let mut verification = LogVerification::from(super::verify_to(cx, earlier.as_ref(), depth)?);
    if depth == AuditDepth::Full && verification.damage.is_empty() {
        verification.damage = cx.store.verify_words()?;
    }
    // The tables of a damaged file cannot be compared with anything.
    if !verification.damage.is_empty() {
        let not_replayed = Some("the file is damaged".to_owned());
        let (replay_differences, pruned_events) = (Vec::new(), 0);
        return Ok(Answer { verification, replayed: false, not_replayed, replay_differences, pruned_events });
    }
    let pruned_events = super::pruned(cx)?;
    let not_replayed = if request.quick { Some("only the chain was checked") } else { super::no_replay(cx)? };
    let replayed = not_replayed.is_none();
    let replay_differences = if replayed { super::replay_differences(cx)? } else { Vec::new() };
    let not_replayed = not_replayed.map(str::to_owned);
    Ok(Answer { verification, replayed, not_replayed, replay_differences, pruned_events })
}
