//! `writ init`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::local::LocalCommand;
use crate::output::Output;

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("init", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ init\n  writ init path/to/project --dry-run")]
pub(crate) struct Args {
    /// The project's directory
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Show what would be created, but create nothing
    #[arg(long)]
    dry_run: bool,
}

/// What `writ init` writes, relative to the project.
pub(crate) const CONFIGURATION: &str = ".writ/config.toml";

pub(crate) const TEMPLATE: &str = "# writ's configuration of this project. It can only make the user's own rules stricter.\n\
                        # Executors are named in the user's configuration: a cloned repository may not choose programs.\n\n\
                        # [policy]\n\
                        # deny_executors = [\"aop-stdio\"]   # executors that may not be used here\n\
                        # deny_shell = true                 # refuse tasks that ask for a shell\n\
                        # timeout_max = \"1h\"                # no attempt may take longer\n\n\
                        # What writ runs before a task of this project is done, unless the task has checks of its own.\n\
                        # The commands run only after a person allowed them with `writ trust`.\n\
                        # [checks]\n\
                        # test = \"cargo test\"\n\
                        # lint = { command = \"cargo clippy && cargo fmt --check\", shell = true }\n";

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let file = args.directory.join(CONFIGURATION);
    let store = host::store_path(globals)?;
    let planned: Vec<&Path> =
        [file.as_path(), store.as_path()].into_iter().filter(|path| !path.exists()).collect();
    let made: Vec<String> = planned.iter().map(|path| path.display().to_string()).collect();
    if !args.dry_run {
        if !args.directory.is_dir() {
            let message = format!("{} is not a directory", args.directory.display());
            return Err(Error::new(ErrorCode::InvalidInput, message));
        }
        // The store first: if it cannot be made, the project is left alone.
        host::open(globals)?;
        write_template(&file)?;
    }
    let verb = if args.dry_run { "would make" } else { "made" };
    Ok(output.answer(&json!({"made": made, "dry_run": args.dry_run}), || match made.as_slice() {
        [] => "everything is there already\n".to_owned(),
        made => {
            let lines: String = made.iter().map(|path| format!("{verb} {path}\n")).collect();
            format!(
                "{lines}next: name the project's checks in {} and allow them with `writ trust`\n",
                file.display()
            )
        }
    }))
}

fn write_template(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let io = |error: std::io::Error| {
        Error::new(ErrorCode::Io, format!("could not write {}: {error}", file.display()))
    };
    fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(io)?;
    fs::write(file, TEMPLATE).map_err(io)
}
