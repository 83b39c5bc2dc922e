//! What an assignment depends on: the plan's checks, a running run, and the digest that an approval is bound to.

use contract::digest;
use contract::domain::change::Change;
use contract::domain::check::Check;
use contract::domain::code::ErrorCode;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::plan::PlanTask;
use contract::domain::run::RunState;
use contract::domain::task::Task;
use contract::operator::Code;
use serde_json::{Value, json};

use super::denial::deny;
use super::ledger_state::LedgerState;
use crate::error::{Error, Result};
use crate::record::EventWriter;

/// A check as an acceptance criterion that a result can repeat.
pub(crate) fn criterion(check: &Check) -> String {
    format!("`{}` gives {}", check.command.join(" "), check.expects.as_str())
}

/// The plan's checks as the packet carries them.
pub(crate) fn checks(task: &Task) -> Vec<Value> {
    task.part.as_ref().map(|part| checks_of(&part.spec)).unwrap_or_default()
}

/// The same of a task that is not in the store yet.
pub(crate) fn checks_of(spec: &PlanTask) -> Vec<Value> {
    let value = |check: &Check| {
        json!({
            "criterion": criterion(check), "command": check.command, "expects": check.expects,
            "shell": check.shell,
        })
    };
    spec.checks.iter().map(value).collect()
}

/// Moves the run to `running` with its first assignment. Refuses a run that has ended.
pub(crate) fn begin_run(work: &mut EventWriter<'_, '_>, state: &mut LedgerState) -> Result<()> {
    match state.run.state {
        RunState::Running => return Ok(()),
        RunState::Submitted | RunState::Stopped => {}
        RunState::Done | RunState::Failed | RunState::Canceled => {
            let message = format!("the run {}; its ledger is closed", state.run.state.said());
            return Err(deny(Code::InvalidTransition, "run_ended", message));
        }
    }
    let run_id = state.run.asked.id.clone();
    let moved = Change::RunMoved { run_id, from: state.run.state, to: RunState::Running, result: None };
    work.change(&crate::run::about(&state.run), "Run is running", &moved)?;
    state.run.state = RunState::Running;
    Ok(())
}

/// The digest of what an approval allows: assigning exactly this task.
pub(crate) fn action_digest(state: &LedgerState, reference: &TaskRef) -> Result<String> {
    let (task, row) = (state.task(reference)?, state.row(reference)?);
    let action = json!({
        "action": "assignment.issue", "run": state.run.asked.id, "task": reference,
        "columns": row.columns, "checks": checks(task),
    });
    digest::of_value(&action).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}
