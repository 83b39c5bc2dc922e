//! `writ import`

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::transfer::import;
use ops::{Error, Result, vybe};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ import store.ndjson\n  writ import --from vybe ~/.config/vybe/vybe.db"
)]
pub(crate) struct Args {
    /// An export of writ, for an empty store (- for standard input), or another program's database
    file: PathBuf,
    /// The program whose database it is; the file is only read
    #[arg(long, value_enum)]
    from: Option<Program>,
}

/// Programs whose data can be carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Program {
    Vybe,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if args.from == Some(Program::Vybe) {
        return from_vybe(args, globals, output);
    }
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

fn from_vybe(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::any_key(globals)?;
    let request = vybe::Request { file: host::absolute(args.file.clone()) };
    let report = vybe::import(&mut host::open(globals)?, &key, &request)?.answer;
    let data = json!({"report": report, "request_id": key.request_id});
    Ok(output.answer(&data, || {
        let count = |(thing, counted): (&String, &vybe::Carried)| {
            format!("{thing}: {} of {} carried\n", counted.carried, counted.found)
        };
        let mut text: String = report.things.iter().map(count).collect();
        report.remarks.iter().for_each(|remark| text.push_str(&format!("  {remark}\n")));
        if report.remarks_more > 0 {
            text.push_str(&format!("  and {} remarks more\n", report.remarks_more));
        }
        text
    }))
}
