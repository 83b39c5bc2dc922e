//! `writ task get`

use std::process::ExitCode;

use contract::continuity::TaskView;
use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, or an unambiguous beginning of its id
    #[arg(long)]
    id: String,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let task = ops::task::get::get(&mut host::open(globals)?, &args.id).map_err(failed)?;
    Ok(output.answer(&TaskView::from(&task), || {
        let mut text = format!("{}\n", super::line(&TaskView::from(&task)));
        if let Some(reason) = &task.blocked_reason {
            text.push_str(&format!("  because {reason}\n"));
        }
        if !task.description.is_empty() {
            text.push_str(&format!("\n{}\n", task.description));
        }
        text
    }))
}

/// The agent contract's words for a task that cannot be had.
pub(super) fn failed(mut error: Error) -> Error {
    if error.code == ErrorCode::NotFound {
        error.message = format!("failed to get task: {}", error.message);
    }
    error
}
