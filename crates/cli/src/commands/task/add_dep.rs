//! `writ task add-dep`

use std::process::ExitCode;

use ops::Result;
use ops::task::add_dependency::{AddDependency, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task that waits
    #[arg(long)]
    pub(super) id: String,
    /// The task it waits for
    #[arg(long, value_name = "ID")]
    pub(super) depends_on: String,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone(), depends_on: args.depends_on.clone() };
    host::answer::<AddDependency>(globals, output, &request, |answer| answer.message.clone())
}
