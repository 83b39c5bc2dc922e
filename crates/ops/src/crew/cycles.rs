//! Detects dependency cycles between rows.

use std::collections::BTreeSet;

use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::operator::ledger::Ledger;
use contract::operator::{Code, Delta};

use super::denial::deny;
use crate::error::Result;

/// Refuses a cycle: its rows could never be done, and would block the whole ledger.
pub(super) fn refuse(after: &Ledger, deltas: &[Delta]) -> Result<()> {
    let in_cycle =
        |(_, delta): &(usize, &Delta)| delta.x_row.is_some() && depends_on_itself(after, &delta.task_id);
    let Some((index, delta)) = deltas.iter().enumerate().find(in_cycle) else { return Ok(()) };
    let message =
        format!("$.ledger_delta[{index}].x_row.dependencies: {} would depend on itself", delta.task_id);
    Err(deny(Code::LedgerInconsistent, "dependency_cycle", message))
}

fn depends_on_itself(ledger: &Ledger, reference: &TaskRef) -> bool {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![reference];
    while let Some(next) = ahead.pop() {
        for needed in ledger.rows.get(next).into_iter().flat_map(CrewRow::dependencies) {
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
