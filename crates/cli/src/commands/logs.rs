//! `writ logs`

use std::io::Write;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::host::LogPiece;
use ops::run::logs::{Logs, OutputStream, Request, pieces};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ logs task_01k2\n  writ logs task_01k2 --attempt 1 --stream stderr")]
pub(crate) struct Args {
    /// The task's id, or a unique prefix of it
    task: String,
    /// Which attempt, counted from 1 [default: the last]
    #[arg(long, value_name = "N")]
    attempt: Option<i64>,
    /// Only this output
    #[arg(long)]
    stream: Option<Stream>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Stream {
    Stdout,
    Stderr,
}

/// Text is what was printed, byte for byte.
pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let stream = args.stream.map(|stream| match stream {
        Stream::Stdout => OutputStream::Stdout,
        Stream::Stderr => OutputStream::Stderr,
    });
    let request = Request { task: args.task.clone(), attempt: args.attempt, stream };
    if output.format != Format::Text {
        return host::answer::<Logs>(globals, output, &request, |_| String::new());
    }
    let (_, pieces) = pieces(&mut host::open(globals)?, &request)?;
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
            LogPiece::Dropped(bytes) => say(&format!("[{bytes} bytes were not kept]\n")),
        }
    }
    Ok(ExitCode::SUCCESS)
}
