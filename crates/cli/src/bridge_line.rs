//! What the command lines `ol` and `ao` share: options, versions, help and usage errors.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, ValueEnum};
use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};

use crate::app::Globals;
use crate::env;
use crate::host::damage_or;
use crate::output::{Format, Output, harmless, say};
use crate::persona;

/// The options of every command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct LineOptions {
    // A command with another `--output` declares an argument of the same name and type, which hides this one there.
    /// How to print the answer: text or json
    #[arg(short = 'o', long = "output", global = true, value_name = "FORMAT")]
    pub(crate) output: Option<String>,
    /// The store's file [default: WRIT_DB, else $XDG_DATA_HOME/writ/writ.db]
    #[arg(long, global = true, value_name = "FILE")]
    db_path: Option<PathBuf>,
    /// An id for this request; a retry with the same id changes nothing twice
    #[arg(long, global = true, value_name = "ID")]
    request_id: Option<String>,
}

impl LineOptions {
    fn globals(&self, format: Option<Format>) -> Globals {
        Globals {
            db_path: self.db_path.clone(),
            agent: None,
            request_id: self.request_id.clone(),
            output: format,
            no_pager: true,
            token_file: None,
        }
    }

    /// The format that was asked for. `table` is what `ao` calls text.
    fn format(&self) -> Result<Option<Format>> {
        let Some(word) = self.output.as_deref() else { return Ok(None) };
        let known = Format::from_str(word, false).ok().or((word == "table").then_some(Format::Text));
        let unknown =
            || Error::new(ErrorCode::Usage, format!("`{word}` is not a format")).hint("use text or json");
        known.map(Some).ok_or_else(unknown)
    }
}

/// A command line of the bridge.
pub(crate) trait BridgeLine: Parser {
    fn options(&self) -> &LineOptions;

    /// Whether `--output` is an option of the command itself, so that the answer is text.
    fn has_own_output(&self) -> bool {
        false
    }

    fn run(&self, globals: &Globals, output: &Output) -> Result<ExitCode>;
}

/// Parses the words and runs the command. Help and versions exit with 0, every error with 1.
pub(crate) fn main<L: BridgeLine>(words: &[OsString]) -> ExitCode {
    let line = match L::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => return refuse::<L>(&error, words),
    };
    let plain = Output::new(None, Surface::Writ);
    if let Some(name) = env::unreadable() {
        let refused = Error::new(ErrorCode::Usage, format!("the environment variable {name} is not UTF-8"));
        return plain.error(&refused);
    }
    let asked = if line.has_own_output() { Ok(None) } else { line.options().format() };
    let format = match asked {
        Ok(format) => format,
        Err(refused) => return plain.error(&refused),
    };
    let (globals, output) = (line.options().globals(format), Output::new(format, Surface::Writ));
    line.run(&globals, &output).unwrap_or_else(|error| output.error(&damage_or(error, &globals)))
}

/// `ol version 1.2.3`, as feature probes read it.
pub(crate) fn version() -> String {
    format!("{} version {}\n", persona::current().name(), env!("CARGO_PKG_VERSION"))
}

fn refuse<L: Parser>(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let output = Output::new(None, Surface::Writ);
    match error.kind() {
        ErrorKind::DisplayVersion => output.text(&version()),
        ErrorKind::DisplayHelp => output.text(&error.render().to_string()),
        // Called without arguments.
        _ if words.len() <= 1 => output.text(&L::command().render_help().to_string()),
        _ => {
            say(&harmless(&error.render().to_string()));
            ExitCode::FAILURE
        }
    }
}
