//! What an orchestrator could do after its step.

use contract::domain::limits;
use contract::domain::status::Status;
use contract::domain::time::{Timestamp, human_duration};
use contract::fence;
use contract::operator::OrchestratorOutput;

use crate::crew::ledger_state::LedgerState;
use crate::crew::ready;

/// What can be assigned, what waits, and then the orchestrator's own list.
pub(super) fn next_actions(
    state: &LedgerState,
    envelope: &OrchestratorOutput,
    now: Timestamp,
) -> Vec<String> {
    let mut actions = Vec::new();
    for (name, row) in &state.ledger.rows {
        match row.status {
            Status::Todo if ready::is_free(&state.ledger, row) => match row.wait_left(now) {
                None => actions.push(format!("assign {name}")),
                Some(left) => actions.push(format!("assign {name} in {}", human_duration(left))),
            },
            Status::Blocked => {
                actions.push(format!("unblock {name}; its reason, as {}", fence::quoted(&row.reason)));
            }
            Status::InProgress => actions.push(format!("wait for {name}")),
            Status::Todo | Status::Done | Status::Failed | Status::Canceled => {}
        }
    }
    let given = envelope.next_actions.iter();
    actions.extend(given.map(|text| format!("the orchestrator said, as {}", fence::quoted(text))));
    actions.truncate(limits::LIST_ROWS_MAX);
    actions
}
