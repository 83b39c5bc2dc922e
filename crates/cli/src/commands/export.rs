//! `writ export`

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ops::Result;
use ops::transfer::export::{Export, Request, to_stream};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ export store.ndjson\n  writ export - | gzip > store.ndjson.gz")]
pub(crate) struct Args {
    /// The file to write; only its owner can read it; - for standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.file == Path::new("-") {
        let mut cx = host::open_existing(globals)?;
        let moved = to_stream(&mut cx, &mut BufWriter::new(io::stdout().lock()))?;
        say(&format!("{} rows exported\n", moved.rows));
        return Ok(ExitCode::SUCCESS);
    }
    let file = host::absolute(args.file.clone()).to_string_lossy().into_owned();
    let answer = host::call_existing::<Export>(globals, &Request { file, force: args.force })?;
    let moved = &answer.moved;
    Ok(output.answer(&answer, || format!("{}: {} rows, {}\n", answer.file, moved.rows, moved.digest)))
}
