//! `writ worklog`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::json::Value;
use ops::Result;
use ops::worklog::{append, show, verify};

use super::crew::{CrewSelector, answer_verdict, own_token, read_document};
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Append an entry to a task's worklog, in the store and then in its file
    ///
    /// An entry has the fields action, files_touched, decision, result and next_step, and may have code and evidence.
    /// A task that is blocked or failed needs a last entry with a code and a next step.
    #[command(after_help = "Examples:
  echo '{\"action\": \"test\", \"files_touched\": [], \"decision\": \"run all tests\", \"result\": \"2 fail\",
    \"next_step\": \"fix them\"}' | writ worklog append --run RUN --task T-2 --token TOKEN
  writ worklog append --run RUN --task T-2 entry.json")]
    Append {
        #[command(flatten)]
        which: CrewSelector,
        /// The entry, or - for standard input. Its timestamp, run_id, task_id and actor may be missing
        #[arg(default_value = "-")]
        file: PathBuf,
        /// The token of the assignment; required while the task is in progress
        /// [default: WRIT_ASSIGNMENT]
        #[arg(long)]
        token: Option<String>,
        /// Refuse unknown fields without x_
        #[arg(long)]
        strict: bool,
    },
    /// Show a task's worklog
    #[command(after_help = "Examples:
  writ worklog show --run RUN --task T-2")]
    Show {
        #[command(flatten)]
        which: CrewSelector,
    },
    /// Check a worklog's file against the store and the contract
    #[command(after_help = "Exit codes: 0 allowed, 1 denied, 2 could not work.

Examples:
  writ worklog verify --run RUN --task T-2")]
    Verify {
        #[command(flatten)]
        which: CrewSelector,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Append { which, file, token, strict } => {
            let task = which.reference(globals)?;
            let request = append::Request {
                run: which.run.clone(),
                token: own_token(token.as_deref(), &task)?,
                task,
                entry: read_document(file)?,
                strict: *strict,
            };
            host::answer::<append::Append>(globals, output, &request, |answer| {
                let kept = answer.x_set_aside.as_deref();
                let kept = kept.map(|name| format!("\nthe file had other content, which is kept as {name}"));
                let (task, line, path) = (&answer.task_id, answer.number, &answer.path);
                format!("{task} line {line} in {path}{}", kept.unwrap_or_default())
            })
        }
        Command::Show { which } => {
            let request = show::Request { run: which.run.clone(), task: which.reference(globals)? };
            host::answer::<show::Show>(globals, output, &request, text)
        }
        Command::Verify { which } => {
            let request = show::Request { run: which.run.clone(), task: which.reference(globals)? };
            Ok(answer_verdict::<verify::Verify>(globals, output, &request))
        }
    }
}

fn text(answer: &show::Answer) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").escape_debug().to_string();
    let mut text = String::new();
    for entry in &answer.entries {
        text.push_str(&format!(
            "{}  {}  {}: {}\n",
            word(&entry["timestamp"]),
            word(&entry["actor"]),
            word(&entry["action"]),
            word(&entry["result"]),
        ));
    }
    if text.is_empty() { "no entries".to_owned() } else { text }
}
