//! `writ task list`

use std::process::ExitCode;

use contract::continuity::state::StateFilter;
use ops::Result;
use ops::task::list::{List, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::word::Words;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tasks in this state; blocked includes failed and canceled
    #[arg(long, value_parser = Words::of(StateFilter::WORDS).also(StateFilter::ALIASES))]
    status: Option<String>,
    /// Only tasks of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Only tasks of this priority; -1 for any
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    priority: i64,
    /// At most this many, up to 1000
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// Accepted for old scripts; tasks are always shown in full
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request {
        status: args.status.as_deref().map(StateFilter::named).transpose()?,
        project_id: args.project_id.as_deref().map(host::workspace),
        priority: Some(args.priority).filter(|&priority| priority != -1),
        limit: args.limit,
    };
    // Accepted for scripts that were written for shortened lists.
    let _ = args.full;
    host::answer::<List>(globals, output, &request, |answer| match &answer.tasks {
        None => "no tasks\n".to_owned(),
        Some(tasks) => tasks.iter().map(|task| format!("{}\n", super::line(task))).collect(),
    })
}
