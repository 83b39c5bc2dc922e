//! `writ task list`

use std::process::ExitCode;

use contract::continuity::state::StateFilter;
use ops::Result;
use ops::task::list::{List, Request};

use crate::app::Globals;
use crate::output::{Output, one_line};
use crate::word::Words;
use crate::{host, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tasks in this state; blocked includes failed and canceled
    #[arg(long, value_parser = Words::of(StateFilter::WORDS).also(StateFilter::ALIASES))]
    status: Option<String>,
    /// Only tasks of this project [default: the project of this directory]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Tasks of every project, and those of runs
    #[arg(long, conflicts_with = "project_id")]
    all_projects: bool,
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
    let project = project::named_or_here(args.project_id.as_deref()).filter(|_| !args.all_projects);
    let request = Request {
        status: args.status.as_deref().map(StateFilter::named).transpose()?,
        project_id: project.clone(),
        priority: Some(args.priority).filter(|&priority| priority != -1),
        limit: args.limit,
    };
    // Accepted for scripts that were written for shortened lists.
    let _ = args.full;
    host::answer::<List>(globals, output, &request, |answer| match &answer.tasks {
        None => none(project.as_deref().filter(|_| args.project_id.is_none())),
        Some(tasks) => tasks.iter().map(|task| format!("{}\n", super::line(task))).collect(),
    })
}

fn none(project: Option<&str>) -> String {
    match project {
        None => "no tasks\n".to_owned(),
        Some(project) => {
            format!("no tasks in {}; `writ task list --all-projects` lists all\n", one_line(project))
        }
    }
}
