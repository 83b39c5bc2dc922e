//! Runs the checks of a task's author, between the transaction that judges a request and the one that commits it.

use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::task::Task;
use serde_json::json;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::record::scrubbed;

/// What the task's checks showed here and now. Empty where the task has none: then `done` is only claimed. What the
/// project's policy forbids is not run.
pub(crate) fn run_checks(cx: &mut Context, task: &Task) -> Result<Vec<CheckSeen>> {
    let Some(part) = task.part.as_ref().filter(|part| !part.spec.checks.is_empty()) else {
        return Ok(Vec::new());
    };
    let run = crate::run::required(&cx.store.read()?, &part.run_id)?;
    let host = cx.host();
    if let Some(reason) = host.denial(&run.asked)? {
        return Err(Error::new(ErrorCode::Denied, reason));
    }
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    Ok(host.run_checks(&run.asked.workspace, part, &mark))
}

/// The same where a failed check refuses the request.
pub(crate) fn passed_checks(cx: &mut Context, task: &Task) -> Result<Vec<CheckSeen>> {
    let seen = run_checks(cx, task)?;
    let Some(message) = failure(&seen) else { return Ok(seen) };
    Err(Error::new(ErrorCode::CheckFailed, message)
        .hint("finish the work; writ runs the checks again when you complete the task")
        .details(json!({"checks": scrubbed(json!(seen))})))
}

/// Names the first check that failed, and why.
pub(crate) fn failure(seen: &[CheckSeen]) -> Option<String> {
    let failed = seen.iter().find(|check| !check.passed)?;
    let problem = failed.problem.as_deref().unwrap_or("did not pass");
    Some(format!("check `{}`: {problem}", failed.command.join(" ")))
}
