//! `writ schema`

pub(crate) mod commands;

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::validate::{Kind, schema};
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::{Value, json};

use crate::local::LocalCommand;
use crate::output::{Format, Output};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("schema commands", Surface::Continuity)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Describe every command, its arguments and whether it changes something
    #[command(after_help = "Examples:\n  writ schema commands --output json")]
    Commands,
    /// List the kinds of documents, and which have a schema
    List,
    /// Print the JSON Schema (2020-12) of a kind
    Show {
        /// A kind that `writ schema list` shows
        kind: String,
        /// As a strict reader has it: fields that would be ignored are faults
        #[arg(long)]
        strict: bool,
    },
}

pub(crate) fn run(command: &Command, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Commands => Ok(commands::run(output)),
        Command::List => Ok(list(output)),
        Command::Show { kind, strict } => show(kind, *strict, output),
    }
}

fn list(output: &Output) -> ExitCode {
    let kinds: Vec<(Kind, bool)> =
        Kind::ALL.iter().map(|kind| (*kind, schema::of(*kind, false).is_some())).collect();
    if output.format != Format::Text {
        let row =
            |(kind, has): &(Kind, bool)| json!({"kind": kind.as_str(), "about": kind.about(), "schema": has});
        let rows: Vec<Value> = kinds.iter().map(row).collect();
        return output.line(&json!({ "kinds": rows }));
    }
    let line = |(kind, has): &(Kind, bool)| {
        let note = if *has { "" } else { " (text, without a schema)" };
        format!("{:<13} {}{note}\n", kind.as_str(), kind.about())
    };
    output.text(&kinds.iter().map(line).collect::<String>())
}

fn show(word: &str, strict: bool, output: &Output) -> Result<ExitCode> {
    let unknown = || {
        let message = format!("there is no kind `{word}`");
        Error::new(ErrorCode::InvalidInput, message).hint("`writ schema list` shows them")
    };
    let kind = Kind::named(word).ok_or_else(unknown)?;
    let Some(schema) = schema::of(kind, strict) else {
        let message = format!("`{word}` is text, which no JSON Schema describes");
        return Err(Error::new(ErrorCode::InvalidInput, message));
    };
    Ok(output.text(&format!("{schema:#}")))
}
