//! Whether the store is what it was: integrity and completeness of the log, and the tables beside it.

pub mod report;
pub mod reseal;
pub mod verify;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use store::Verification as Found;
use store::{AuditDepth, Verification};

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
    type Answer = report::LogTip;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, _| Ok(tip(cx)?.into()));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TipRequest {}

/// Checks the whole store but for a replay. With an earlier tip, also checks that nothing it names has gone.
pub fn verify(cx: &mut Context, earlier: Option<&store::Tip>) -> Result<Verification> {
    verify_to(cx, earlier, AuditDepth::Full)
}

fn verify_to(cx: &mut Context, earlier: Option<&store::Tip>, depth: AuditDepth) -> Result<Verification> {
    Ok(cx.store.read()?.verify_to(earlier, depth)?)
}

/// Where every stream ends now. Kept outside the store, it makes a removed tail or stream visible.
pub fn tip(cx: &mut Context) -> Result<store::Tip> {
    Ok(cx.store.read()?.tip()?)
}

/// How many events `gc` removed. Where there are any, the log begins at anchors and cannot rebuild the tables.
pub fn pruned(cx: &mut Context) -> Result<i64> {
    Ok(cx.store.read()?.pruned_ever()?)
}

/// Why the log cannot rebuild the tables; `None` if it can.
pub fn no_replay(cx: &mut Context) -> Result<Option<&'static str>> {
    let tx = cx.store.read()?;
    Ok(if tx.pruned_ever()? > 0 {
        Some("the log begins at anchors")
    } else if tx.was_salvaged()? {
        Some("the store was salvaged from a damaged one")
    } else {
        None
    })
}

/// Rows that only the tables have, and rows that only the log has. Empty for a log that cannot rebuild the tables.
pub fn replay_differences(cx: &mut Context) -> Result<Vec<String>> {
    if no_replay(cx)?.is_some() {
        return Ok(Vec::new());
    }
    let rebuilt = match cx.store.rebuilt() {
        Ok(mut rebuilt) => rebuilt.rows()?,
        Err(store::Error::Corrupt(message)) => {
            return Ok(vec![format!("the log cannot be replayed: {message}")]);
        }
        Err(error) => return Err(error.into()),
    };
    let rebuilt: BTreeSet<String> = rebuilt.into_iter().collect();
    let real: BTreeSet<String> = cx.store.rows()?.into_iter().collect();
    let missing = real.difference(&rebuilt).map(|row| format!("only in the tables: {row}"));
    let extra = rebuilt.difference(&real).map(|row| format!("only in the log: {row}"));
    Ok(missing.chain(extra).collect())
}
