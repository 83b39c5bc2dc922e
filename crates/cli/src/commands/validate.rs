//! `writ validate`

mod stream;
mod text;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::limits;
use contract::domain::time::Timestamp;
use contract::validate::{Kind, Tripwire, ValidateOptions, could_not_work, validate};
use contract::verdict::Verdict;
use ops::verb::Surface;

use crate::output::{Format, Output};

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, clap::Args)]
#[command(after_help = kinds_help())]
pub(crate) struct Args {
    /// The kind of document and the file [default: the kind by its contents, standard input]
    #[arg(value_name = "[KIND] [FILE|-]", num_args = 0..=2)]
    words: Vec<String>,
    /// Refuse what the contract allows to ignore
    #[arg(long)]
    strict: bool,
    /// The workspace that paths are in
    #[arg(long, value_name = "DIR")]
    root: Option<String>,
    /// The time by which heartbeats are judged, in RFC 3339
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The assignment that a result or a worklog answers
    #[arg(long, value_name = "FILE")]
    assignment: Option<PathBuf>,
    /// The worklog as it was before
    #[arg(long, value_name = "FILE")]
    prior: Option<PathBuf>,
    /// How the task of a worklog ended
    #[arg(long, value_name = "done|blocked|failed")]
    outcome: Option<String>,
    /// What happens when a text seems to give orders
    #[arg(long, value_name = "deny|warn|off", default_value = "deny")]
    tripwire: String,
    /// Treat names that differ only in case as one
    #[arg(long)]
    fold_case: bool,
    /// Accept a handoff whose only fault are tasks that timed out
    #[arg(long)]
    allow_stale: bool,
    /// Require a lock of every task in progress, also if a ledger comes without its lock table
    #[arg(long)]
    check_locks: bool,
}

fn kinds_help() -> String {
    let line = |kind: &Kind| format!("  {:<13} {}\n", kind.as_str(), kind.about());
    let lines: String = Kind::ALL.iter().map(line).collect();
    format!(
        "Kinds:\n{lines}\nExit codes: 0 allowed, 1 denied, 2 could not work.\n\nExamples:\n  \
         writ validate plan.toml\n  writ validate aop task.json --strict"
    )
}

/// The options, with the files that they name.
struct ValidateInput {
    now: Option<Timestamp>,
    tripwire: Tripwire,
    assignment: Option<Vec<u8>>,
    prior: Option<Vec<u8>>,
}

/// Judges the document and prints the verdict. Only an allowed document exits with 0.
pub(crate) fn run(args: &Args, output: &Output) -> ExitCode {
    answer_even_to_a_bug(output.format);
    let (kind, file) = match target(&args.words) {
        Ok(target) => target,
        Err(refusal) => return print(&refusal, output),
    };
    let given = match given(args) {
        Ok(given) => given,
        Err(refusal) => return print(&refusal, output),
    };
    let executors = engine::Executors::built_in().known();
    let options = ValidateOptions {
        strict: args.strict,
        root: args.root.as_deref(),
        now: given.now,
        assignment: given.assignment.as_deref(),
        prior: given.prior.as_deref(),
        outcome: args.outcome.as_deref(),
        links: None,
        fold: args.fold_case,
        tripwire: given.tripwire,
        allow_stale: args.allow_stale,
        check_locks: args.check_locks.then_some(true),
        executors: &executors,
    };
    if output.format == Format::Ndjson {
        return stream::run(kind, file, &options, output);
    }
    let verdict = match read(file) {
        Ok(bytes) => validate(kind, &bytes, &options),
        Err(message) => could_not_work(kind, "unreadable", message),
    };
    print(&verdict, output)
}

/// One word is a kind if there is such a kind, and a file otherwise.
fn target(words: &[String]) -> Result<(Option<Kind>, &Path), Box<Verdict>> {
    const STDIN: &str = "-";
    match words {
        [] => Ok((None, Path::new(STDIN))),
        [word] => match Kind::named(word) {
            Some(kind) => Ok((Some(kind), Path::new(STDIN))),
            None => Ok((None, Path::new(word))),
        },
        [word, file, ..] => match Kind::named(word) {
            Some(kind) => Ok((Some(kind), Path::new(file))),
            None => Err(Box::new(could_not_work(None, "usage", format!("there is no kind `{word}`")))),
        },
    }
}

fn given(args: &Args) -> Result<ValidateInput, Box<Verdict>> {
    let unreadable = |message: String| Box::new(could_not_work(None, "unreadable", message));
    let file = |path: &Option<PathBuf>| path.as_deref().map(read).transpose().map_err(unreadable);
    let usage = |message: String| Box::new(could_not_work(None, "usage", message));
    let now = args.now.as_deref().map(Timestamp::parse).transpose();
    Ok(ValidateInput {
        now: now.map_err(|error| usage(format!("--now: {error}")))?,
        tripwire: Tripwire::parse(&args.tripwire)
            .ok_or_else(|| usage("--tripwire must be deny, warn or off".to_owned()))?,
        assignment: file(&args.assignment)?,
        prior: file(&args.prior)?,
    })
}

/// Reads a file or standard input, and no more than any document may have.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let most = u64::try_from(limits::WORKLOG_BYTES_MAX).expect("BUG: the limit is a small number") + 1;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("could not read {}: {error}", path.display())),
    }
}

/// Prints one answer and gives its exit code.
pub(crate) fn print(verdict: &Verdict, output: &Output) -> ExitCode {
    let printed = match output.format {
        Format::Text => output.text(&text::of(verdict)),
        Format::Json | Format::Ndjson => output.line(verdict),
    };
    // A verdict that could not be printed must not count as permission.
    if printed == ExitCode::SUCCESS { ExitCode::from(verdict.exit_code()) } else { ExitCode::from(2) }
}

/// The answer to arguments that could not be parsed; the explanation goes to standard error.
pub(crate) fn refuse_words(reason: &str) {
    let output = Output { format: Format::Json, surface: Surface::Validator, pages: false };
    print(&could_not_work(None, "usage", reason), &output);
}

/// A bug must not look like a verdict on the document.
fn answer_even_to_a_bug(format: Format) {
    std::panic::set_hook(Box::new(move |panic| {
        let output = Output { format, surface: Surface::Validator, pages: false };
        print(&could_not_work(None, "bug", crate::crash::report(&panic.to_string())), &output);
        #[expect(clippy::exit, reason = "the answer is printed; unwinding would only change the exit code")]
        std::process::exit(2);
    }));
}
