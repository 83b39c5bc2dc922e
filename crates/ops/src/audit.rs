//! Whether the log is what it was: integrity and completeness.

pub mod report;
pub mod verify;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Verification;

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

/// Reads where every stream ends.
pub struct ReadTip;

impl Verb for ReadTip {
    const NAME: &'static str = "audit.tip";
    const COMMAND: &'static str = "audit tip";
    const SUMMARY: &'static str = "Print where every stream of the log ends, to be kept elsewhere";
    const SURFACE: Surface = Surface::Writ;
    type Request = TipRequest;
    type Answer = report::Tip;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _| Ok(tip(cx)?.into()));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TipRequest {}

/// Walks the whole log. With an earlier tip, also checks that nothing it names has gone.
pub fn verify(cx: &mut Context, earlier: Option<&store::Tip>) -> Result<Verification> {
    Ok(cx.store.read()?.verify(earlier)?)
}

/// Where every stream ends now. Kept outside the store, it makes a removed tail or stream visible.
pub fn tip(cx: &mut Context) -> Result<store::Tip> {
    Ok(cx.store.read()?.tip()?)
}

/// How many events `gc` removed. Where there are any, the log begins at anchors and cannot rebuild the tables.
pub fn pruned(cx: &mut Context) -> Result<i64> {
    Ok(cx.store.read()?.pruned_ever()?)
}

/// Rows that only the tables have, and rows that only the log has. Empty for a log that `gc` shortened.
pub fn replay_differences(cx: &mut Context) -> Result<Vec<String>> {
    if pruned(cx)? > 0 {
        return Ok(Vec::new());
    }
    let rebuilt: BTreeSet<String> = cx.store.rebuilt()?.rows()?.into_iter().collect();
    let real: BTreeSet<String> = cx.store.rows()?.into_iter().collect();
    let missing = real.difference(&rebuilt).map(|row| format!("only in the tables: {row}"));
    let extra = rebuilt.difference(&real).map(|row| format!("only in the log: {row}"));
    Ok(missing.chain(extra).collect())
}
