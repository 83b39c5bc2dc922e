//! What goes with work that is given out: the author's checks, a run that runs, and what an approval is bound to.

use contract::digest;
use contract::domain::change::Change;
use contract::domain::check::Check;
use contract::domain::code::ErrorCode;
use contract::domain::run::RunState;
use contract::domain::task::Task;
use contract::operator::{Code, TaskRef};
use contract::plan::PlanTask;
use serde_json::{Value, json};

use super::denial::deny;
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::record::EventWriter;

/// What a check shows, in words that a result can repeat.
pub(crate) fn criterion(check: &Check) -> String {
    format!("`{}` gives {}", check.command.join(" "), check.expects.as_str())
}

/// The author's checks as the packet carries them.
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

/// A run is running from its first assignment on. What has ended gives nothing out.
pub(crate) fn begin_run(work: &mut EventWriter<'_, '_>, sheet: &mut Sheet) -> Result<()> {
    match sheet.run.state {
        RunState::Running => return Ok(()),
        RunState::Submitted | RunState::Stopped => {}
        RunState::Done | RunState::Failed | RunState::Canceled => {
            let message = format!("the run is {}; its ledger is closed", sheet.run.state.as_str());
            return Err(deny(Code::InvalidTransition, "run_ended", message));
        }
    }
    let run_id = sheet.run.asked.id.clone();
    let moved = Change::RunMoved { run_id, from: sheet.run.state, to: RunState::Running, result: None };
    work.change(&crate::run::about(&sheet.run), "Run is running", &moved)?;
    sheet.run.state = RunState::Running;
    Ok(())
}

/// What an approval for giving the task out is bound to.
pub(crate) fn action_digest(sheet: &Sheet, reference: &TaskRef) -> Result<String> {
    let (task, row) = (sheet.task(reference)?, sheet.row(reference)?);
    let action = json!({
        "action": "assignment.issue", "run": sheet.run.asked.id, "task": reference,
        "columns": row.columns, "checks": checks(task),
    });
    digest::of_value(&action).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}
