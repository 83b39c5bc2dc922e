//! Whether the log is what it was: integrity and completeness, told apart.

use std::collections::BTreeSet;

use store::{Tip, Verification};

use crate::context::Context;
use crate::error::Result;

/// Walks the whole log. With an earlier tip, also checks that nothing it names has gone.
pub fn verify(cx: &mut Context, earlier: Option<&Tip>) -> Result<Verification> {
    Ok(cx.store.read()?.verify(earlier)?)
}

/// Where every stream ends now. Kept outside the store, it makes a removed tail or stream visible.
pub fn tip(cx: &mut Context) -> Result<Tip> {
    Ok(cx.store.read()?.tip()?)
}

/// How many events were removed for good. Where there are any, the log begins at anchors and rebuilds no tables.
pub fn pruned(cx: &mut Context) -> Result<i64> {
    Ok(cx.store.read()?.pruned_ever()?)
}

/// Rows that the log does not account for, and rows of the log that the tables lack. Of a log that was pruned nothing
/// can be said.
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
