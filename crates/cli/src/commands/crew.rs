//! What the commands of a crew share.

use std::path::Path;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::{Value, strict};
use contract::verdict::Verdict;
use ops::{Error, Result};

use crate::output::Output;

/// A task of a run.
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
    parse_document(&super::validate::read(file).map_err(|problem| Error::new(ErrorCode::Io, problem))?)
}

/// The same for what came from elsewhere.
pub(crate) fn parse_document(bytes: &[u8]) -> Result<Value> {
    if bytes.len() > limits::DOCUMENT_BYTES_MAX {
        let message = format!("the document is larger than {} bytes", limits::DOCUMENT_BYTES_MAX);
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
