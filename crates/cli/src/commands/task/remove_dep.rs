//! `writ task remove-dep`

use std::process::ExitCode;

use ops::Result;
use ops::task::remove_dependency::{Request, remove};

pub(crate) use super::add_dep::Args;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let request = Request { id: args.id.clone(), depends_on: args.depends_on.clone() };
    let given = remove(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || given.answer.message.clone()))
}
