//! `writ artifacts list`

use std::process::ExitCode;

use contract::continuity::ArtifactView;
use contract::domain::code::ErrorCode;
use ops::artifact::list::{Request, list};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the files of a task, newest first
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The task
    #[arg(long, value_name = "ID")]
    task_id: String,
    /// At most this many, up to 1000
    #[arg(long, default_value_t = 50, allow_negative_numbers = true)]
    limit: i64,
}

pub(crate) fn run(Command::List(args): &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.task_id.is_empty() {
        return Err(Error::new(ErrorCode::InvalidInput, "--task-id is required"));
    }
    let request = Request { task_id: args.task_id.clone(), limit: Some(args.limit) };
    let answer = list(&mut host::open(globals)?, &request)?;
    Ok(output.answer(&answer, || {
        let line = |file: &ArtifactView| {
            let (kind, path) = (one_line(&file.content_type), one_line(&file.file_path));
            format!("{}  {kind:<24}  {path}\n", file.created_at)
        };
        match answer.artifacts.as_slice() {
            [] => "no artifacts\n".to_owned(),
            files => files.iter().map(line).collect(),
        }
    }))
}
