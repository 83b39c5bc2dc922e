//! `writ push`

use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::push::{Answer, Push, Request};
use ops::{Error, Result};

use super::run::read_bounded;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ push --agent ann --request-id r1 --json '{\"event\": {\"kind\": \"note\", \"message\": \"half done\"}}'\n  writ push --agent ann --request-id r2 < push.json"
)]
pub(crate) struct Args {
    /// The document to write, up to 1 MiB [default: standard input]
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    json: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    host::required_session(globals)?;
    let bytes = match args.json.as_ref().filter(|text| !text.is_empty()) {
        Some(text) => text.clone().into_bytes(),
        None => piped()?,
    };
    if bytes.is_empty() {
        return Err(no_input());
    }
    host::answer::<Push>(globals, output, &Request::parse(&bytes)?, text)
}

fn piped() -> Result<Vec<u8>> {
    if stdin().is_terminal() {
        return Err(no_input());
    }
    read_bounded(Path::new("-"))
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read standard input: {error}")))
}

/// In the words of the agent contract.
fn no_input() -> Error {
    Error::new(ErrorCode::InvalidInput, "JSON input required via --json flag or stdin pipe")
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(event) = answer.event_id {
        text.push_str(&format!("event {event}\n"));
    }
    for memory in &answer.memories {
        text.push_str(&format!("stored {}\n", memory.key));
    }
    for artifact in &answer.artifacts {
        text.push_str(&format!("added {} as {}\n", artifact.file_path, artifact.artifact_id));
    }
    if let Some(moved) = &answer.task_status {
        text.push_str(&format!("{} is {}\n", moved.task_id, moved.status));
    }
    for path in &answer.ignored {
        text.push_str(&format!("ignored unknown field {path}\n"));
    }
    text
}
