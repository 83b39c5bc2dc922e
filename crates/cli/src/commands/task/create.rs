//! `writ task create`

use std::process::ExitCode;

use ops::Result;
use ops::task::create::{Request, create};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in one line
    #[arg(long)]
    title: String,
    /// Everything else worth knowing
    #[arg(long, default_value = "")]
    desc: String,
    /// The project it belongs to
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let request = Request {
        title: args.title.clone(),
        description: args.desc.clone(),
        project_id: args.project_id.as_deref().map(host::workspace),
        priority: args.priority,
    };
    let given = create(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || format!("created {}", given.answer.task.id)))
}
