//! `writ push`

use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::process::ExitCode;

use contract::continuity::push::Push;
use contract::domain::code::ErrorCode;
use ops::push::{Answer, push};
use ops::{Error, Result};

use super::run::read_bounded;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be written down; without it standard input is read, up to 1 MiB
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    json: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let bytes = match &args.json {
        Some(text) => text.clone().into_bytes(),
        None => piped()?,
    };
    let request = Push::read(&bytes).map_err(|findings| Error::invalid("push", findings))?;
    let given = push(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || text(&given.answer)))
}

fn piped() -> Result<Vec<u8>> {
    if stdin().is_terminal() {
        return Err(Error::new(ErrorCode::InvalidInput, "push needs --json, or JSON on standard input"));
    }
    read_bounded(Path::new("-"))
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read standard input: {error}")))
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(event) = answer.event_id {
        text.push_str(&format!("event {event}\n"));
    }
    for memory in &answer.memories {
        text.push_str(&format!("remembered {}\n", memory.key));
    }
    for artifact in &answer.artifacts {
        text.push_str(&format!("added {} as {}\n", artifact.file_path, artifact.artifact_id));
    }
    if let Some(moved) = &answer.task_status {
        text.push_str(&format!("{} is {}\n", moved.task_id, moved.status));
    }
    text
}
