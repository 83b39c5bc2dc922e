//! `writ schema`

pub(crate) mod commands;

use std::process::ExitCode;

use ops::Result;
use ops::document::schema::{self, KindRow, ShowRequest};
use ops::verb::Surface;

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
    #[command(after_help = "Examples:\n  writ schema list")]
    List,
    /// Print the JSON Schema (2020-12) of a kind of document
    #[command(after_help = "Examples:\n  writ schema show plan\n  writ schema show aop --strict")]
    Show {
        /// A kind that `writ schema list` shows
        kind: String,
        /// For strict readers: refuse fields that would be ignored
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

/// Neither of these needs a store.
fn list(output: &Output) -> ExitCode {
    let kinds = schema::kinds();
    if output.format != Format::Text {
        return output.line(&kinds);
    }
    let line = |row: &KindRow| {
        let note = if row.schema { "" } else { " (text, without a schema)" };
        format!("{:<13} {}{note}\n", row.kind, row.about)
    };
    output.text(&kinds.kinds.iter().map(line).collect::<String>())
}

fn show(kind: &str, strict: bool, output: &Output) -> Result<ExitCode> {
    let schema = schema::show(&ShowRequest { kind: kind.to_owned(), strict })?;
    Ok(output.text(&format!("{:#}", schema.0)))
}
