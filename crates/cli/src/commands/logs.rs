//! `writ logs`

use std::io::Write;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use engine::supervisor::logs::{LogReader, Piece, Stream};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, or an unambiguous beginning of its id
    task: String,
    /// Which attempt, counted from 1 [default: the last]
    #[arg(long, value_name = "N")]
    attempt: Option<i64>,
    /// Only what was printed here
    #[arg(long, value_parser = ["stdout", "stderr"])]
    stream: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, _: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let task = ops::task::get::get(&mut cx, &args.task)?;
    let attempts = ops::task::get::attempts(&mut cx, &task.id)?;
    let attempt = match args.attempt {
        Some(number) => attempts.iter().find(|attempt| attempt.begun.number == number),
        None => attempts.last(),
    };
    let Some(attempt) = attempt else {
        return Err(Error::new(ErrorCode::NotFound, "the task has no such attempt")
            .hint(format!("it has {} attempts", attempts.len())));
    };
    let path = host::logs_directory(globals).join(format!("{}.log", attempt.begun.id));
    let reader = LogReader::open(&path).map_err(|error| {
        Error::new(ErrorCode::NotFound, format!("the output of {} was not kept: {error}", attempt.begun.id))
    })?;
    for piece in reader {
        let piece = piece.map_err(|error| {
            Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display()))
        })?;
        match piece {
            Piece::Output(stream, bytes) => {
                let name = if stream == Stream::Stdout { "stdout" } else { "stderr" };
                if args.stream.as_deref().is_some_and(|wanted| wanted != name) {
                    continue;
                }
                match std::io::stdout().write_all(&bytes) {
                    Ok(()) => {}
                    // The reader has had enough.
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                        return Ok(ExitCode::SUCCESS);
                    }
                    Err(error) => {
                        return Err(Error::new(ErrorCode::Io, format!("could not print the log: {error}")));
                    }
                }
            }
            Piece::Dropped(bytes) => say(&format!("[{bytes} bytes were not kept]\n")),
        }
    }
    Ok(ExitCode::SUCCESS)
}
