//! `writ conformance`

mod other;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use contract::conformance::{Case, VectorFile, answer, cases};
use contract::domain::code::ErrorCode;
use contract::json::strict;
use ops::verb::Surface;
use ops::{Error, Result};
use other::Other;
use serde_json::Value;

use crate::local::LocalCommand;
use crate::output::Output;

pub(crate) const LOCAL: &[LocalCommand] = &[
    LocalCommand::reads("conformance run", Surface::Conformance),
    LocalCommand::reads("conformance answer", Surface::Conformance),
];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run every test vector of a directory through this or another program
    #[command(
        after_help = "Examples:\n  writ conformance run vectors\n  writ conformance run vectors --command ./other"
    )]
    Run {
        /// A directory laid out as writ's own vectors
        directory: PathBuf,
        /// Also list the cases that passed
        #[arg(long)]
        verbose: bool,
        /// Ask this shell command instead; it reads a JSON question on standard input and prints a JSON answer
        #[arg(long, value_name = "CMD")]
        command: Option<String>,
        /// Time limit for one answer
        #[arg(long, value_name = "SECONDS", default_value_t = 10)]
        timeout: u64,
    },
    /// Answer one question from standard input, as `run --command` asks it
    #[command(after_help = "Examples:\n  writ conformance answer < question.json")]
    Answer,
}

/// A directory with more files than this is not one of vectors.
const FILES_MAX: usize = 20_000;

pub(crate) fn run(command: &Command, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Answer => {
            let malformed = |message: String| Error::new(ErrorCode::InvalidInput, message);
            let question = super::validate::read(Path::new("-")).map_err(malformed)?;
            let question = strict::parse(&question).map_err(|error| malformed(error.to_string()))?;
            Ok(output.line(&answer(&question)))
        }
        Command::Run { directory, verbose, command, timeout } => {
            let patience = Duration::from_secs((*timeout).clamp(1, 3600));
            let other = command.as_deref().map(|command| Other::new(command, patience));
            run_all(directory, *verbose, other.as_ref(), output)
        }
    }
}

fn run_all(directory: &Path, verbose: bool, other: Option<&Other>, output: &Output) -> Result<ExitCode> {
    let mut passed = 0;
    let mut failed = 0;
    let mut lines = Vec::new();
    for path in files(directory)? {
        let bytes = read(&path)?;
        let relative = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        for case in cases(&VectorFile { path: &relative, bytes: &bytes }) {
            let folder = path.parent().unwrap_or(Path::new("."));
            if case.may_lack_files && case.needs.iter().any(|name| !folder.join(name).exists()) {
                lines.push(format!("skipped {} {}: its file is not there", case.contract, case.name));
                continue;
            }
            match run_case(&case, folder, other) {
                Ok(()) => {
                    passed += 1;
                    if verbose {
                        lines.push(format!("ok      {} {}", case.contract, case.name));
                    }
                }
                Err(why) => {
                    failed += 1;
                    lines.push(format!("FAILED  {} {}: {why}", case.contract, case.name));
                }
            }
        }
    }
    if passed + failed == 0 {
        let message = format!("there are no vectors in {}", directory.display());
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    lines.push(format!("{passed} passed, {failed} failed"));
    let printed = output.text(&lines.join("\n"));
    Ok(if failed == 0 { printed } else { ExitCode::FAILURE })
}

fn run_case(case: &Case, folder: &Path, other: Option<&Other>) -> std::result::Result<(), String> {
    let needed: Result<Vec<Vec<u8>>> = case.needs.iter().map(|name| read(&folder.join(name))).collect();
    let needed = needed.map_err(|error| error.to_string())?;
    let question = case.question(&needed).map_err(|mismatch| mismatch.to_string())?;
    let answered: Value = match other {
        None => answer(&question),
        Some(other) => other.answer(&question)?,
    };
    case.judge(&answered).map_err(|mismatch| mismatch.to_string())
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push(path);
            }
        }
        if found.len() > FILES_MAX {
            let message = format!("{} holds more than {FILES_MAX} files", directory.display());
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display()))
}
