//! `writ task complete`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use engine::verify::{Place, run_all};
use ops::task::complete::{Request, complete};
use ops::{Context, Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::output::Output;
use crate::{env, host};

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
        verified: args.outcome == "done" && verified(&mut cx, &args.id)?,
    };
    let given = complete(&mut cx, &key, &request)?;
    Ok(output.answer(&given.answer, || format!("{} is {}", given.answer.task.id, given.answer.task.status)))
}

/// Runs the task's checks here and now. False for a task without checks: then done is only claimed.
pub(super) fn verified(cx: &mut Context, id: &str) -> Result<bool> {
    let task = ops::task::get::get(cx, id)?;
    let Some(part) = task.part.filter(|part| !part.spec.checks.is_empty()) else { return Ok(false) };
    let run = ops::run::show::state(cx, &part.run_id)?;
    let environment = env::inherited();
    let shim = host::shim();
    let place = Place { shim: &shim, workspace: Path::new(&run.asked.workspace), environment: &environment };
    let now = cx.now().at;
    let seen = run_all(&part.spec.checks, &place, &mint(cx.ids(), now));
    match seen.iter().find(|check| !check.passed) {
        None => Ok(true),
        Some(failed) => {
            let problem = failed.problem.as_deref().unwrap_or("did not pass");
            let message = format!("check `{}`: {problem}", failed.command.join(" "));
            Err(Error::new(ErrorCode::CheckFailed, message)
                .hint("finish the work; writ runs the checks again when you complete the task")
                .details(json!({"checks": seen})))
        }
    }
}
