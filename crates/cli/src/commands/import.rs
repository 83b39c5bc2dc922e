//! `writ import`

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::transfer::import::{Answer, Import, Request, from_stream};
use ops::vybe::{self, ImportVybe, ImportedRows};
use ops::{Error, Result};

use crate::app::Globals;
use crate::output::{Output, say};
use crate::persona::{self, Persona};
use crate::{host, original};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ import store.ndjson\n  writ import --from vybe\n  writ import --from vybe ~/.config/vybe/vybe.db"
)]
pub(crate) struct Args {
    /// An export of writ, for an empty store (- for standard input), or another program's database [default with
    /// --from vybe: where vybe keeps it]
    #[arg(value_name = "FILE")]
    source: Option<PathBuf>,
    /// The program whose database it is; the file is only read
    #[arg(long, value_enum)]
    from: Option<ImportSource>,
}

/// Programs with an importer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ImportSource {
    Vybe,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let is_vybe = args.from == Some(ImportSource::Vybe) || persona::current() == Persona::Vybe;
    let file = args.source.clone().filter(|file| !file.as_os_str().is_empty());
    if is_vybe {
        return import_vybe(file, globals, output);
    }
    let file = file.ok_or_else(|| {
        Error::new(ErrorCode::Usage, "FILE is required")
            .hint("`writ import --from vybe` finds its file by itself")
    })?;
    let text = |answer: &Answer| format!("{} rows imported\n", answer.moved.rows);
    if file == Path::new("-") {
        let answer = from_stream(&mut host::open(globals)?, &mut io::stdin().lock())?;
        return Ok(output.answer(&answer, || text(&answer)));
    }
    host::answer::<Import>(globals, output, &Request { file: path_text(file) }, text)
}

fn import_vybe(file: Option<PathBuf>, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let file = file.or_else(|| original::database(None)).ok_or_else(|| {
        Error::new(ErrorCode::NotFound, "no vybe database was found")
            .hint("name its file: `writ import --from vybe FILE`")
    })?;
    if !file.exists() {
        return Err(Error::new(ErrorCode::NotFound, format!("there is no file {}", file.display()))
            .hint("name vybe's database: `writ import --from vybe FILE`"));
    }
    let globals = &beside_the_original(globals, &file)?;
    let mut cx = host::open_silently(globals, Box::new(|_| {}))?;
    let answer = host::call_on::<ImportVybe>(&mut cx, globals, &vybe::Request { file: path_text(file) })?;
    Ok(output.answer(&answer, || report(&answer)))
}

/// The variable that names the store may still name the original's database, which is only read: the store is then
/// where it is by default.
fn beside_the_original(globals: &Globals, file: &Path) -> Result<Globals> {
    let is_given = host::store_source(globals) == "--db-path";
    let is_same = host::absolute(host::store_path(globals)?) == host::absolute(file.to_owned());
    if is_given || !is_same {
        return Ok(globals.clone());
    }
    let store = host::default_store_path()?;
    let source = host::store_source(globals);
    say(&format!(
        "note: {source} names vybe's own database, so the store is {}; unset {source}, or set it to that file\n",
        store.display()
    ));
    Ok(Globals { db_path: Some(store), ..globals.clone() })
}

fn path_text(file: PathBuf) -> String {
    host::absolute(file).to_string_lossy().into_owned()
}

fn report(answer: &vybe::Answer) -> String {
    let report = &answer.report;
    let count = |(thing, counted): (&String, &ImportedRows)| {
        format!("{thing}: {} of {} carried\n", counted.carried, counted.found)
    };
    let mut text: String = report.things.iter().map(count).collect();
    report.remarks.iter().for_each(|remark| text.push_str(&format!("  {remark}\n")));
    if report.remarks_more > 0 {
        text.push_str(&format!("  and {} more remarks\n", report.remarks_more));
    }
    text
}
