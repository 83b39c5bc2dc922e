//! `writ import`

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::transfer::import;
use ops::{Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An export of writ, for a store that is still empty; `-` reads standard input
    file: PathBuf,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut input: Box<dyn BufRead> = if args.file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(&args.file).map_err(|error| {
            Error::new(ErrorCode::Io, format!("could not read {}: {error}", args.file.display()))
        })?;
        Box::new(BufReader::new(opened))
    };
    let moved = import(&mut host::open(globals)?, &mut *input)?;
    Ok(output.answer(&json!({"moved": moved}), || format!("{} rows imported\n", moved.rows)))
}
