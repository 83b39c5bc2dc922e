//! `writ plan check` and `writ plan schema`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::text::counted;
use engine::index::Index;
use engine::verify::pinned;
use ops::Result;
use ops::document::plan::{Answer, Warning, plan_schema};

use super::run::{directory_of, read_document};
use crate::config;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Report everything that is wrong with a plan, an AOP TASK or an AEE task
    #[command(after_help = "Examples:\n  writ plan check plan.toml\n  writ plan check - < task.json")]
    Check {
        /// The file, or - for standard input
        file: PathBuf,
    },
    /// Print the JSON Schema of plan files
    #[command(after_help = "Examples:\n  writ plan schema > plan.schema.json")]
    Schema,
}

/// Neither needs a store.
pub(crate) fn run(command: &Command, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Schema => Ok(output.text(&format!("{:#}", plan_schema().0))),
        Command::Check { file } => {
            let understood = read_document(file, &config::load(&directory_of(file))?)?;
            let look = |root: &str, paths: &[&str]| {
                pinned::digests(&Index::default(), Path::new(root), paths.iter().copied())
            };
            let is_directory = |root: &str, path: &str| Path::new(root).join(path).is_dir();
            let answer = Answer::of(&understood, look, is_directory);
            Ok(output.answer(&answer, || {
                let Answer { kind, tasks, warnings } = &answer;
                let warning =
                    |found: &Warning| format!("warning: {}: {}\n", found.path, one_line(&found.message));
                let warnings: String = warnings.iter().map(warning).collect();
                let tasks = format!("{}: {}", counted(tasks.len(), "task"), tasks.join(", "));
                format!("ok: {kind} with {tasks}\n{warnings}{}", next(file))
            }))
        }
    }
}

/// The command that runs the document. Nothing for standard input, which has been read.
fn next(file: &Path) -> String {
    match file.to_str() {
        None | Some("-") => String::new(),
        Some(file) => {
            let file = shlex::try_quote(file).unwrap_or_else(|_| file.into());
            format!("next:\n  writ run {file}\n")
        }
    }
}
