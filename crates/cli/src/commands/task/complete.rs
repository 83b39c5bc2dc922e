//! `writ task complete`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use engine::verify::{CheckLocation, run_all};
use ops::context::Key;
use ops::task::complete::{Request, complete};
use ops::{Context, Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::output::Output;
use crate::{config, env, host};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task
    #[arg(long)]
    id: String,
    /// done or blocked
    #[arg(long)]
    outcome: String,
    /// What came of it
    #[arg(long)]
    summary: String,
    /// A word to find it by
    #[arg(long)]
    label: Option<String>,
    /// Why it is blocked
    #[arg(long, value_name = "TEXT")]
    blocked_reason: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let mut cx = host::open(globals)?;
    let request = Request {
        id: args.id.clone(),
        outcome: args.outcome.clone(),
        summary: args.summary.clone(),
        label: args.label.clone(),
        blocked_reason: args.blocked_reason.clone(),
        seen: if args.outcome == "done" { check(&mut cx, &key, &args.id)? } else { Vec::new() },
    };
    let given = complete(&mut cx, &key, &request)?;
    Ok(output.answer(&given.answer, || format!("{} is {}", given.answer.task.id, given.answer.task.status)))
}

/// Runs the task's checks here and now, unless the request was answered before or there are none: then done is only
/// claimed. What the policy forbids is not run.
pub(super) fn check(cx: &mut Context, key: &Key, id: &str) -> Result<Vec<CheckSeen>> {
    if cx.was_answered(key)? {
        return Ok(Vec::new());
    }
    let task = ops::task::get::get(cx, id)?;
    let Some(part) = task.part.filter(|part| !part.spec.checks.is_empty()) else { return Ok(Vec::new()) };
    let run = ops::run::show::state(cx, &part.run_id)?;
    let workspace = Path::new(&run.asked.workspace);
    if let Some(reason) = engine::denial(&run.asked, &config::load(workspace)?.policy) {
        return Err(Error::new(ErrorCode::Denied, reason));
    }
    let environment = env::inherited();
    let shim = host::shim();
    let place =
        CheckLocation { launcher: &shim, workspace, environment: &environment, task_env: &part.spec.env };
    let now = cx.now().at;
    let seen = run_all(&part.spec.checks, &place, &mint(cx.ids(), now));
    let Some(failed) = seen.iter().find(|check| !check.passed) else { return Ok(seen) };
    let problem = failed.problem.as_deref().unwrap_or("did not pass");
    let message = format!("check `{}`: {problem}", failed.command.join(" "));
    Err(Error::new(ErrorCode::CheckFailed, message)
        .hint("finish the work; writ runs the checks again when you complete the task")
        .details(json!({"checks": seen})))
}
