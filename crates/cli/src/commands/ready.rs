//! `writ ready`

use std::process::ExitCode;

use ops::Result;
use ops::task::ready::{Ready, Request};

use super::task::line;
use crate::app::Globals;
use crate::output::Output;
use crate::{host, project};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ ready\n  writ ready --limit 5")]
pub(crate) struct Args {
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Only tasks of this project [default: the project of this directory]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Tasks of every project, and those of runs
    #[arg(long, conflicts_with = "project_id")]
    all_projects: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let project_id = project::named_or_here(args.project_id.as_deref()).filter(|_| !args.all_projects);
    let request = Request { limit: Some(args.limit), project_id };
    host::answer::<Ready>(globals, output, &request, |answer| match answer.tasks.as_slice() {
        [] => "nothing is ready\n".to_owned(),
        tasks => tasks.iter().map(|task| format!("{}\n", line(task))).collect(),
    })
}
