//! Rows that wait for each other in a circle.

use std::collections::BTreeSet;

use contract::operator::ledger::{Ledger, Row};
use contract::operator::{Code, Delta, TaskRef};

use super::denial::deny;
use crate::error::Result;

/// Rows that wait for themselves would stand in the way of the whole ledger for ever.
pub(super) fn refuse(after: &Ledger, deltas: &[Delta]) -> Result<()> {
    let tangled =
        |(_, delta): &(usize, &Delta)| delta.x_row.is_some() && waits_for_itself(after, &delta.task_id);
    let Some((index, delta)) = deltas.iter().enumerate().find(tangled) else { return Ok(()) };
    let message =
        format!("$.ledger_delta[{index}].x_row.dependencies: {} would wait for itself", delta.task_id);
    Err(deny(Code::LedgerInconsistent, "dependency_cycle", message))
}

fn waits_for_itself(ledger: &Ledger, reference: &TaskRef) -> bool {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![reference];
    while let Some(next) = ahead.pop() {
        for needed in ledger.rows.get(next).into_iter().flat_map(Row::dependencies) {
            if needed == reference {
                return true;
            }
            if seen.insert(needed) {
                ahead.push(needed);
            }
        }
    }
    false
}
