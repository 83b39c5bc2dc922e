//! Issues one assignment of a step. What its packet does not say comes from the row and the plan.

use contract::domain::money::MicroUsd;
use contract::domain::plan::Budget;
use contract::domain::status::Status;
use contract::operator::Assignment;
use serde_json::{Value, json};

use crate::assignment::issue;
use crate::crew::ledger_state::LedgerState;
use crate::crew::packet::{AssignmentDraft, issue_packet};
use crate::crew::rows;
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;

pub(super) fn send_assignment(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    packet: &Assignment,
    view: &HostView,
) -> Result<issue::Answer> {
    let name = packet.task.task_id.clone();
    take_columns(work, state, packet)?;
    let row = state.row(&name)?;
    let named = packet.extra.get("x_owner").and_then(Value::as_str).filter(|owner| !owner.trim().is_empty());
    let known = Some(row.owner.as_str()).filter(|owner| !owner.trim().is_empty());
    let owner = named.or(known).unwrap_or(work.caller.agent.as_str()).to_owned();
    let number = |name: &str| packet.extra.get(name).and_then(Value::as_i64);
    let planned = state.task(&name)?.part.as_ref().map(|part| part.spec.budget).unwrap_or_default();
    let cost = number("x_cost_micro_usd").map(MicroUsd).or(planned.cost);
    let tokens = number("x_tokens").or(planned.tokens);
    let share = Budget { cost, tokens }.share();
    let draft = AssignmentDraft { reference: name.clone(), packet: json!(packet), owner, share };
    let issued = issue_packet(work, state, view, draft)?;
    issue::answer(state, &name, issued)
}

/// A row that describes its task nowhere else takes the description from the packet. A row that moves with this
/// assignment is written then.
fn take_columns(work: &mut EventWriter<'_, '_>, state: &mut LedgerState, packet: &Assignment) -> Result<()> {
    let name = &packet.task.task_id;
    let is_in_progress = state.row(name)?.status == Status::InProgress;
    let row = state.ledger.rows.get_mut(name);
    let is_changed = row.is_some_and(|row| row.take_packet(&packet.task.columns()));
    if is_changed && is_in_progress { rows::rewrite(work, state, name) } else { Ok(()) }
}
