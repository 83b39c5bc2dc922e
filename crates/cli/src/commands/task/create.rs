//! `writ task create`

use std::process::ExitCode;

use ops::Result;
use ops::task::create::{Create, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One line that says what to do
    #[arg(long)]
    title: String,
    /// Details
    #[arg(long = "desc", default_value = "")]
    description: String,
    /// The project the task belongs to
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request {
        title: args.title.clone(),
        description: args.description.clone(),
        project_id: args.project_id.as_deref().map(host::workspace),
        priority: args.priority,
    };
    host::answer::<Create>(globals, output, &request, |answer| format!("created {}", answer.task.id))
}
