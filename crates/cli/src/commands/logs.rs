//! `writ logs`

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use ops::host::LogPiece;
use ops::names::{LAST, is_run};
use ops::run::logs::{Logs, LogsOfRun, OutputPiece, OutputStream, Request, RunAnswer, RunRequest, read};
use ops::{Error, Result};

use crate::app::Globals;
use crate::failed_check::{self, text};
use crate::host;
use crate::output::{Format, Output, one_line, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ logs\n  writ logs tests --attempt 1 --stream stderr\n  \
                  writ logs tests --raw > tests.log")]
pub(crate) struct Args {
    /// A task (its id, a unique prefix of it, its id in a plan, or its T-n), or a run, whose tasks are all shown
    /// [default: @last]
    #[arg(default_value = LAST, hide_default_value = true)]
    which: String,
    /// Which attempt, counted from 1 [default: the last]
    #[arg(long, value_name = "N")]
    attempt: Option<i64>,
    /// Only this output
    #[arg(long)]
    stream: Option<ShownStream>,
    /// Print the bytes as they are, with control characters. Not on a terminal
    #[arg(long)]
    raw: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ShownStream {
    Stdout,
    Stderr,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let stream = args.stream.map(|stream| match stream {
        ShownStream::Stdout => OutputStream::Stdout,
        ShownStream::Stderr => OutputStream::Stderr,
    });
    if is_run(&args.which) {
        refuse_for_runs(args)?;
        let request = RunRequest { run: args.which.clone(), stream };
        return host::answer::<LogsOfRun>(globals, output, &request, text_of_run);
    }
    let request = Request { task: args.which.clone(), attempt: args.attempt, stream };
    if output.format != Format::Text {
        return host::answer::<Logs>(globals, output, &request, |_| String::new());
    }
    if args.raw && std::io::stdout().is_terminal() {
        return Err(Error::new(ErrorCode::Usage, "--raw prints control characters, so not to a terminal")
            .hint("redirect the output to a file or a pipe"));
    }
    let log = read(&mut host::open(globals)?, &host::reader(globals), &request)?;
    if args.raw {
        return print_bytes(log.pieces);
    }
    let check = log.failed_check.as_ref().filter(|_| stream.is_none());
    Ok(print_text(log.pieces, check, output))
}

fn refuse_for_runs(args: &Args) -> Result<()> {
    let given = [(args.attempt.is_some(), "--attempt"), (args.raw, "--raw")];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Error::new(
            ErrorCode::Usage,
            format!("{flag} needs a task; `{}` is a run", one_line(&args.which)),
        )
        .hint("`writ runs show` lists the tasks of the newest run")),
        None => Ok(()),
    }
}

/// What was printed, byte for byte.
fn print_bytes(pieces: Vec<LogPiece>) -> Result<ExitCode> {
    for piece in pieces {
        match piece {
            LogPiece::Printed(_, bytes) => match std::io::stdout().write_all(&bytes) {
                Ok(()) => {}
                // The reader has had enough.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
                Err(error) => {
                    return Err(Error::new(ErrorCode::Io, format!("could not print the log: {error}")));
                }
            },
            LogPiece::Dropped(bytes) => say(&dropped(bytes)),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines and tabs as they were printed, with control characters written out, and then the check that failed.
fn print_text(pieces: Vec<LogPiece>, check: Option<&CheckSeen>, output: &Output) -> ExitCode {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            LogPiece::Printed(_, printed) => bytes.extend(printed),
            LogPiece::Dropped(count) => say(&dropped(count)),
        }
    }
    let mut printed = String::from_utf8_lossy(&bytes).into_owned();
    if let Some(check) = check {
        end_line(&mut printed);
        printed.push_str(&text(check, 0));
    }
    output.text(&printed)
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn dropped(bytes: u64) -> String {
    format!("[{bytes} bytes were not kept]\n")
}

fn text_of_run(answer: &RunAnswer) -> String {
    let mut text = String::new();
    for task in &answer.tasks {
        let name = task.name.as_deref().unwrap_or_else(|| task.logs.task_id.as_str());
        text.push_str(&format!("==> {} (attempt {}) <==\n", one_line(name), task.logs.attempt));
        for piece in &task.logs.output {
            match piece {
                OutputPiece::Printed { text: printed, .. } => text.push_str(printed),
                OutputPiece::Dropped { dropped_bytes } => text.push_str(&dropped(*dropped_bytes)),
            }
        }
        end_line(&mut text);
        if let Some(check) = &task.logs.failed_check {
            text.push_str(&failed_check::text(check, 0));
        }
    }
    if text.is_empty() { format!("no task of {} was started\n", answer.run_id) } else { text }
}
