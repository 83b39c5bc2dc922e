//! `writ personality`

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::json;

use crate::host;
use crate::local::LocalCommand;
use crate::output::Output;
use crate::persona::Persona;

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("personality install", Surface::Writ)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Install links to writ under the names of other command lines
    #[command(after_help = "Examples:\n  writ personality install ~/.local/bin")]
    Install {
        /// The directory of the links, preferably on your PATH
        directory: PathBuf,
    },
}

/// Names that have a command line of their own.
const OTHERS: [Persona; 1] = [Persona::Vybe];

pub(crate) fn run(Command::Install { directory }: &Command, output: &Output) -> Result<ExitCode> {
    let failed = |what: &Path, error: std::io::Error| {
        Error::new(ErrorCode::Io, format!("could not make {}: {error}", what.display()))
    };
    let program = std::env::current_exe().map_err(|error| {
        Error::new(ErrorCode::Io, format!("could not find out where this program is: {error}"))
    })?;
    let directory = host::absolute(directory.clone());
    let links: Vec<PathBuf> = OTHERS.iter().map(|persona| directory.join(persona.name())).collect();
    let is_ours = |link: &Path| std::fs::canonicalize(link).is_ok_and(|target| target == program);
    // Somebody else's program of that name stays, and then nothing is made.
    if let Some(taken) = links.iter().find(|link| link.symlink_metadata().is_ok() && !is_ours(link)) {
        let message = format!("{} is there already and is not writ", taken.display());
        return Err(
            Error::new(ErrorCode::AlreadyExists, message).hint("choose another directory, or move it away")
        );
    }
    std::fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
    let mut told = Vec::new();
    for link in links {
        let status = if is_ours(&link) { "kept" } else { "made" };
        if status == "made" {
            symlink(&program, &link).map_err(|error| failed(&link, error))?;
        }
        told.push((link.display().to_string(), status));
    }
    let rows: Vec<_> = told.iter().map(|(path, status)| json!({"path": path, "status": status})).collect();
    let data = json!({"program": program.display().to_string(), "links": rows});
    Ok(output.answer(&data, || told.iter().map(|(path, status)| format!("{status} {path}\n")).collect()))
}
