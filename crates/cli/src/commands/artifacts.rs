//! `writ artifacts list`

use std::process::ExitCode;

use contract::continuity::ArtifactView;
use ops::Result;
use ops::artifact::list::{List, Request};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the artifacts of a task, newest first
    #[command(after_help = "Examples:\n  writ artifacts list --task-id task_01")]
    List(ArtifactListArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ArtifactListArgs {
    /// The task
    #[arg(long, value_name = "ID")]
    task_id: String,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
}

pub(crate) fn run(Command::List(args): &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { task_id: args.task_id.clone(), limit: Some(args.limit) };
    host::answer::<List>(globals, output, &request, |answer| {
        let line = |file: &ArtifactView| {
            let (kind, path) = (one_line(&file.content_type), one_line(&file.file_path));
            format!("{}  {kind:<24}  {path}\n", file.created_at)
        };
        match answer.artifacts.as_slice() {
            [] => "no artifacts\n".to_owned(),
            files => files.iter().map(line).collect(),
        }
    })
}
