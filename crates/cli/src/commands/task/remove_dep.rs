//! `writ task remove-dep`

use std::process::ExitCode;

use ops::Result;
use ops::task::remove_dependency::{RemoveDependency, Request};

pub(crate) use super::add_dep::Args;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone(), depends_on: args.depends_on.clone() };
    host::answer::<RemoveDependency>(globals, output, &request, |answer| answer.message.clone())
}
