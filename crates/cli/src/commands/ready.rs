//! `writ ready`

use std::process::ExitCode;

use contract::continuity::TaskView;
use ops::Result;
use serde_json::json;

use super::task::line;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// At most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let tasks = ops::task::ready::ready(&mut host::open(globals)?, args.limit)?;
    let views: Vec<TaskView> = tasks.iter().map(TaskView::from).collect();
    Ok(output.answer(&json!({"count": views.len(), "tasks": views}), || match tasks.as_slice() {
        [] => "nothing is ready\n".to_owned(),
        tasks => tasks.iter().map(|task| format!("{}\n", line(&TaskView::from(task)))).collect(),
    }))
}
