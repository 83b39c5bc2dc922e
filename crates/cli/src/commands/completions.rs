//! `writ completions`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::Shell;
use ops::Result;
use ops::verb::Surface;

use crate::local::LocalCommand;
use crate::output::Output;
use crate::{app, env};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("completions", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ completions bash > ~/.local/share/bash-completion/completions/writ\n  writ completions zsh"
)]
pub(crate) struct Args {
    /// The shell to complete for
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<ExitCode> {
    Ok(output.text(&script(args.shell)))
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut app::grammar(), "writ", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Where shells look for a user's completion scripts, with what writ prints for them.
pub(crate) fn usual_places() -> Vec<(PathBuf, String)> {
    let data = env::data_home().and_then(|data| data.parent().map(Path::to_owned));
    let config = env::config_home().and_then(|config| config.parent().map(Path::to_owned));
    let places = [
        (Shell::Bash, data.as_ref().map(|data| data.join("bash-completion/completions/writ"))),
        (Shell::Zsh, data.as_ref().map(|data| data.join("zsh/site-functions/_writ"))),
        (Shell::Fish, config.as_ref().map(|config| config.join("fish/completions/writ.fish"))),
    ];
    let existing =
        places.into_iter().filter_map(|(shell, path)| Some((shell, path.filter(|path| path.is_file())?)));
    existing.map(|(shell, path)| (path, script(shell))).collect()
}
