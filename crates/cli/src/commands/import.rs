//! `writ import`

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ops::Result;
use ops::transfer::import::{Answer, Import, Request, from_stream};
use ops::vybe::{self, Carried, ImportVybe};

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

/// Programs whose data can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Program {
    Vybe,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let file = host::absolute(args.file.clone()).to_string_lossy().into_owned();
    if args.from == Some(Program::Vybe) {
        return host::answer::<ImportVybe>(globals, output, &vybe::Request { file }, report);
    }
    let text = |answer: &Answer| format!("{} rows imported\n", answer.moved.rows);
    if args.file == Path::new("-") {
        let answer = from_stream(&mut host::open(globals)?, &mut io::stdin().lock())?;
        return Ok(output.answer(&answer, || text(&answer)));
    }
    host::answer::<Import>(globals, output, &Request { file }, text)
}

fn report(answer: &vybe::Answer) -> String {
    let report = &answer.report;
    let count = |(thing, counted): (&String, &Carried)| {
        format!("{thing}: {} of {} carried\n", counted.carried, counted.found)
    };
    let mut text: String = report.things.iter().map(count).collect();
    report.remarks.iter().for_each(|remark| text.push_str(&format!("  {remark}\n")));
    if report.remarks_more > 0 {
        text.push_str(&format!("  and {} more remarks\n", report.remarks_more));
    }
    text
}
