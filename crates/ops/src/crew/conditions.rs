//! What has to be met before work goes out: the author's checks, a share of the budget, a person's word.

use contract::digest;
use contract::domain::change::Change;
use contract::domain::check::Check;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::Amount;
use contract::domain::run::RunState;
use contract::domain::task::Task;
use contract::operator::{Code, TaskId as Reference};
use contract::plan::PlanTask;
use serde_json::{Value, json};

use super::denial::deny;
use super::rows;
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::record::Scribe;

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
pub(crate) fn begin_run(work: &mut Scribe<'_, '_>, sheet: &mut Sheet) -> Result<()> {
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

/// Takes the worker's share out of what the run has left, in the transaction that gives the task out.
pub(crate) fn reserve(
    work: &mut Scribe<'_, '_>,
    sheet: &Sheet,
    task: &Task,
    token: i64,
    share: Option<Amount>,
) -> Result<Option<Amount>> {
    let Some(purse) = work.tx.purse(&sheet.run.asked.id)? else { return Ok(None) };
    let amount = purse
        .decide_reserve(share)
        .map_err(|fault| deny(Code::NonCompliant, fault.rule(), fault.to_string()))?;
    let reserved = CrewChange::BudgetReserved {
        token,
        run_id: sheet.run.asked.id.clone(),
        task_id: task.id.clone(),
        amount,
    };
    let message = format!("{} and {} tokens reserved", amount.cost, amount.tokens);
    work.change(&rows::about(sheet, task), &message, &Change::Crew(reserved))?;
    Ok(Some(amount))
}

/// What an approval for giving the task out is bound to.
pub(crate) fn action_digest(sheet: &Sheet, reference: &Reference) -> Result<String> {
    let (task, row) = (sheet.task(reference)?, sheet.row(reference)?);
    let action = json!({
        "action": "assignment.issue", "run": sheet.run.asked.id, "task": reference,
        "columns": row.columns, "checks": checks(task),
    });
    digest::of_value(&action).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}

/// Where an approval was ever asked for, the task is given out with a granted one, once.
pub(crate) fn use_approval(
    work: &mut Scribe<'_, '_>,
    sheet: &Sheet,
    reference: &Reference,
    token: i64,
) -> Result<()> {
    let task = sheet.task(reference)?;
    let asked = work.tx.approvals_of_task(&task.id)?;
    let Some(last) = asked.last() else { return Ok(()) };
    let digest = action_digest(sheet, reference)?;
    let good = asked.iter().find(|filed| filed.admit(&digest, work.now).is_ok());
    let Some(good) = good else {
        let fault = last.admit(&digest, work.now).expect_err("BUG: none of them is good");
        let message = format!("approval {} for {reference}: {fault}", last.asked.id);
        return Err(deny(Code::NonCompliant, fault.rule(), message));
    };
    let used = CrewChange::ApprovalUsed {
        id: good.asked.id.clone(),
        run_id: sheet.run.asked.id.clone(),
        task_id: task.id.clone(),
        token,
    };
    let message = format!("Approval {} used", good.asked.id);
    work.change(&rows::about(sheet, task), &message, &Change::Crew(used))?;
    Ok(())
}
