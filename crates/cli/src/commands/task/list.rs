//! `writ task list`

use std::process::ExitCode;

use contract::continuity::TaskView;
use ops::Result;
use ops::task::list::{Request, page};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// pending, in_progress, completed, blocked; also failed, canceled
    #[arg(long)]
    status: Option<String>,
    /// Only tasks of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Only tasks of this priority; -1 means any
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    priority: i64,
    /// At most this many, up to 1000
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// Whole tasks; they always are
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request {
        status: args.status.clone(),
        project_id: args.project_id.as_deref().map(host::workspace),
        priority: Some(args.priority).filter(|&priority| priority != -1),
        limit: args.limit,
    };
    // Accepted for scripts that were written for shortened lists.
    let _ = args.full;
    let (tasks, more) = page(&mut host::open(globals)?, &request)?;
    let views: Vec<TaskView> = tasks.iter().map(TaskView::from).collect();
    // The original prints null for an empty list, and scripts depend on it.
    let shown = if views.is_empty() { serde_json::Value::Null } else { json!(views) };
    let mut data = json!({"count": views.len(), "tasks": shown});
    if more {
        // Nobody should take a page for the whole list.
        data["more"] = json!(true);
    }
    Ok(output.answer(&data, || match tasks.as_slice() {
        [] => "no tasks\n".to_owned(),
        tasks => tasks.iter().map(|task| format!("{}\n", super::line(task))).collect(),
    }))
}
