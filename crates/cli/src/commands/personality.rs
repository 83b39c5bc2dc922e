//! `writ personality`

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::json;

use crate::hooks::files;
use crate::local::LocalCommand;
use crate::output::Output;
use crate::persona::OTHERS;
use crate::{env, host};

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
    remember(&links)?;
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

/// Where the links that were installed are remembered, so that they can be removed; none where there is no data directory.
pub(crate) fn record() -> Option<PathBuf> {
    Some(env::data_home()?.join("links.json"))
}

fn remembered() -> Vec<PathBuf> {
    let text = record().and_then(|record| std::fs::read_to_string(record).ok()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Written before the links are made: a link that is remembered but does not exist does no harm.
fn remember(links: &[PathBuf]) -> Result<()> {
    let Some(record) = record() else { return Ok(()) };
    let mut all = remembered();
    all.extend(links.iter().cloned());
    all.sort();
    all.dedup();
    files::make_directories(&record)?;
    files::write(&record, &format!("{}\n", json!(all)))
}

/// Links to writ under other names: the remembered ones, and those on the path. Anything else of that name is not ours.
pub(crate) fn installed_links(program: &Path) -> Vec<PathBuf> {
    let beside = program.parent().map(Path::to_owned);
    let directories = env::search_path().into_iter().chain(beside);
    let on_path =
        directories.flat_map(|directory| OTHERS.iter().map(move |other| directory.join(other.name())));
    let mut links: Vec<PathBuf> =
        remembered().into_iter().chain(on_path).filter(|link| points_at_writ(link, program)).collect();
    links.sort();
    links.dedup();
    links
}

/// A dangling link counts when its target was called `writ`.
fn points_at_writ(link: &Path, program: &Path) -> bool {
    let Ok(target) = std::fs::read_link(link) else { return false };
    match std::fs::canonicalize(link) {
        Ok(found) => found == program || found.file_name() == Some(OsStr::new("writ")),
        Err(_) => target.file_name() == Some(OsStr::new("writ")),
    }
}
