//! Writes one row to the store. Its task is created if it is new, and moves with the row.

use contract::domain::change::Change;
use contract::domain::crew::lock::LockRefusal;
use contract::domain::crew::row::CrewRow;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::{AppliedDelta, CrewChange, number_of, unnumbered};
use contract::domain::id::mint;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use contract::domain::task::{Command, PlanPart, Task, TransitionRules};
use contract::operator::Code;
use contract::operator::ledger::spec_of;

use super::{TransitionContext, about};
use crate::crew::blockers::settle_blocker;
use crate::crew::denial::{deny, refused};
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::record::{About, EventWriter};

/// Writes a row of the ledger state to the store.
pub(super) fn write(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    reference: &TaskRef,
    delta: Option<AppliedDelta>,
    context: TransitionContext,
) -> Result<()> {
    let row = state.ledger.rows[reference].clone();
    let mut task = match state.tasks.get(reference) {
        Some(task) => task.clone(),
        None => create(work, state, reference, &row)?,
    };
    if task.status != row.status {
        let command = Command::Move {
            to: row.status,
            reason: Some(row.reason.as_str().into()),
            rules: TransitionRules::Operator,
            verified: context.verified,
            withheld: context.withheld.map(Reason::from),
            by: context.by.filter(|_| row.status == Status::Done),
            author: None,
        };
        let message = format!("{reference}: {}", row.status);
        crate::task::carry_out_alone(work, &mut task, &command, &message).map_err(as_operator)?;
    }
    let written = CrewChange::RowWritten {
        run_id: state.run.asked.id.clone(),
        task_id: task.id.clone(),
        reference: reference.clone(),
        ledger_version: state.ledger.version,
        delta,
        row: Box::new(row.clone()),
    };
    let about = about(state, &task);
    work.change(&about, &format!("{reference} is {}: {}", row.status, row.reason), &Change::Crew(written))?;
    if !matches!(row.status, Status::Todo | Status::InProgress) {
        crate::crew::grants::let_go(work, &task, context.ended, context.spent)?;
    }
    if row.status != Status::Blocked {
        settle_blocker(work, &task, None)?;
    }
    state.tasks.insert(reference.clone(), task);
    Ok(())
}

/// A task with checks is done only after writ ran them; an orchestrator cannot say so.
fn as_operator(error: crate::Error) -> crate::Error {
    use contract::domain::code::ErrorCode;
    match error.code {
        ErrorCode::CheckFailed => deny(Code::AcceptanceFailed, "no_evidence", error.message),
        ErrorCode::WrongState => deny(Code::InvalidTransition, "illegal", error.message),
        _ => error,
    }
}

fn create(
    work: &mut EventWriter<'_, '_>,
    state: &LedgerState,
    reference: &TaskRef,
    row: &CrewRow,
) -> Result<Task> {
    let number = number_of(reference)
        .unwrap_or_else(|| unnumbered(state.tasks.keys().filter(|other| number_of(other).is_none()).count()));
    let spec = spec_of(reference, &row.columns, &state.run.asked.workspace)
        .map_err(|fault| refused(LockRefusal::Scope(fault)))?;
    let needed = row.dependencies().iter().filter_map(|needed| state.tasks.get(needed));
    let mut depends_on: Vec<_> = needed.map(|task| task.id.clone()).collect();
    depends_on.sort();
    depends_on.dedup();
    let task_id: contract::domain::task::TaskId = mint(work.ids, work.now.at);
    let created = Change::TaskCreated {
        task_id: task_id.clone(),
        title: spec.title.clone(),
        description: String::new(),
        priority: spec.priority.number(),
        project_id: None,
        part: Some(PlanPart { run_id: state.run.asked.id.clone(), number, spec }),
        depends_on,
        checks: None,
    };
    let about = About { task_id: Some(task_id.clone()), ..crate::run::about(&state.run) };
    work.change(&about, &format!("Task created: {reference}"), &created)?;
    crate::task::required(work.tx, task_id.as_str())
}
