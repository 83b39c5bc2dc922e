//! What the commands of a crew share.

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::{Value, strict};
use contract::verdict::Verdict;
use ops::{Error, Result};

use crate::output::Output;

// A task of a run. The parser would show a doc comment here as what each command does.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// The run: its UUID, or any of writ's own names for it
    #[arg(long)]
    pub(crate) run: String,
    /// The task, such as T-12
    #[arg(long)]
    pub(crate) task: String,
}

/// Reads a document from a file or from standard input. What other readers would silently change is refused.
pub(crate) fn read_document(file: &Path) -> Result<Value> {
    read_document_within(file, limits::DOCUMENT_BYTES_MAX)
}

/// The same for documents that may have `most` bytes.
pub(crate) fn read_document_within(file: &Path, most: usize) -> Result<Value> {
    let bytes = super::validate::read(file).map_err(|problem| Error::new(ErrorCode::Io, problem))?;
    parse_within(&bytes, most)
}

/// The same for what came from elsewhere.
pub(crate) fn parse_document(bytes: &[u8]) -> Result<Value> {
    parse_within(bytes, limits::DOCUMENT_BYTES_MAX)
}

fn parse_within(bytes: &[u8], most: usize) -> Result<Value> {
    if bytes.len() > most {
        let message = format!("the document is larger than {most} bytes");
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    strict::parse(bytes).map_err(|fault| {
        let message = format!("{}:{}: {fault}", fault.line, fault.column);
        Error::new(ErrorCode::SchemaInvalid, message)
    })
}

/// Prints an answer in the validators' form: exit 0 only where it allows.
pub(crate) fn print_verdict(verdict: &Verdict, output: &Output) -> ExitCode {
    super::validate::print(verdict, output)
}
