//! `writ export`

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::transfer::{export, export_to};
use ops::{Error, Result};
use serde_json::json;

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
    let mut cx = host::open_existing(globals)?;
    if args.file == Path::new("-") {
        let moved = export(&mut cx, &mut BufWriter::new(io::stdout().lock()))?;
        say(&format!("{} rows exported\n", moved.rows));
        return Ok(ExitCode::SUCCESS);
    }
    let file = host::absolute(args.file.clone());
    if host::store_path(globals).is_ok_and(|store| host::absolute(store) == file) {
        return Err(Error::new(ErrorCode::InvalidInput, "this is the store itself"));
    }
    let moved = export_to(&mut cx, &file, args.force)?;
    let file = file.display().to_string();
    Ok(output.answer(&json!({"file": file, "moved": moved}), || {
        format!("{file}: {} rows, {}\n", moved.rows, moved.digest)
    }))
}
