//! What the commands of a crew share.

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::{InvalidToken, LockToken};
use contract::domain::limits;
use contract::json::Value;
use contract::validate::could_not_work;
use ops::crew::document::parse;
use ops::verb::Verb;
use ops::verdict::{FindingView, VerdictAnswer};
use ops::{Error, Result, names};

use crate::app::Globals;
use crate::output::{Format, Output};
use crate::{env, host};

// A task of a run. The parser would show a doc comment here as what each command does.
#[derive(Debug, clap::Args)]
pub(crate) struct CrewSelector {
    /// The run: its UUID, or its id
    #[arg(long)]
    pub(crate) run: String,
    /// The task: its T-n, its id in the plan, or its id
    #[arg(long)]
    pub(crate) task: String,
}

impl CrewSelector {
    /// The task's name in operator documents.
    pub(crate) fn reference(&self, globals: &Globals) -> Result<String> {
        reference(globals, &self.run, &self.task)
    }
}

/// A token on the command line.
pub(crate) fn token(text: &str) -> Result<LockToken> {
    text.parse().map_err(|error: InvalidToken| Error::new(ErrorCode::Usage, format!("--token: {error}")))
}

/// The given token, or that of the calling worker if it works on this task.
pub(crate) fn own_token(given: Option<&str>, task: &str) -> Result<Option<LockToken>> {
    if given.is_some() || env::get("WRIT_TASK_ID").as_deref() != Some(task) {
        return given.map(token).transpose();
    }
    let read = |text: String| {
        text.parse().map_err(|error: InvalidToken| {
            Error::new(ErrorCode::Usage, format!("WRIT_ASSIGNMENT is {error}"))
        })
    };
    env::get("WRIT_ASSIGNMENT").map(read).transpose()
}

/// The same where one is required.
pub(crate) fn required_token(given: Option<&str>, task: &str) -> Result<LockToken> {
    own_token(given, task)?.ok_or_else(|| {
        Error::new(ErrorCode::Usage, "--token is required: the token of the assignment")
            .hint("`writ assignment issue` printed it; a worker's command has it in WRIT_ASSIGNMENT")
    })
}

/// The name that operator documents give a task of a run: `T-n`. What names no task is left to the verb to refuse.
pub(crate) fn reference(globals: &Globals, run: &str, task: &str) -> Result<String> {
    if TaskRef::parse(task).is_some() {
        return Ok(task.to_owned());
    }
    match names::reference_in(&mut host::open(globals)?, &host::reader(globals), run, task) {
        Err(error) if error.code == ErrorCode::NotFound => Ok(task.to_owned()),
        other => other,
    }
}

/// Reads a document from a file or from standard input.
pub(crate) fn read_document(file: &Path) -> Result<Value> {
    read_document_within(file, limits::DOCUMENT_BYTES_MAX)
}

/// The same for documents of at most `limit` bytes.
pub(crate) fn read_document_within(file: &Path, limit: usize) -> Result<Value> {
    let bytes = super::validate::read(file).map_err(|problem| Error::new(ErrorCode::Io, problem))?;
    parse(&bytes, limit).map_err(|error| match error.code {
        ErrorCode::SchemaInvalid => {
            let message = format!("{} is not JSON: {}", file.display(), error.message);
            Error { message, ..error }
        }
        _ => error,
    })
}

/// Calls a verb that answers with a verdict, and prints it: exit 0 only if it allows. A validator always answers: one
/// that could not work denies, and exits with 2.
pub(crate) fn answer_verdict<V: Verb<Answer = VerdictAnswer>>(
    globals: &Globals,
    output: &Output,
    request: &V::Request,
) -> ExitCode {
    match host::call::<V>(globals, request) {
        Ok(verdict) => print_verdict(&verdict, output),
        Err(error) => {
            let mut verdict = could_not_work(None, "unreadable", error.to_string());
            V::NAME.clone_into(&mut verdict.details.kind);
            super::validate::print(&verdict, output)
        }
    }
}

/// Prints a verdict as validators do.
fn print_verdict(verdict: &VerdictAnswer, output: &Output) -> ExitCode {
    let printed = match output.format {
        Format::Text => output.text(&text(verdict)),
        Format::Json | Format::Ndjson => output.line(verdict),
    };
    match (printed == ExitCode::SUCCESS, verdict.allow) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::FAILURE,
        // A verdict that could not be printed allows nothing.
        (false, _) => ExitCode::from(2),
    }
}

fn text(verdict: &VerdictAnswer) -> String {
    let details = &verdict.details;
    let word = if verdict.allow { "allowed" } else { "denied" };
    let line = |label: &str, finding: &FindingView| {
        format!("  {label}{} {} [{}]\n", finding.path, finding.message, finding.rule)
    };
    let mut text = format!("{word}: {} ({}) {}\n", verdict.code, details.kind, verdict.reason);
    text.extend(details.findings.iter().map(|finding| line("", finding)));
    text.extend(details.warnings.iter().map(|warning| line("warning: ", warning)));
    text
}
