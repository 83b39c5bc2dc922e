//! `writ watchdog`

use std::process::ExitCode;

use ops::Result;
use ops::watchdog::{Request, sweep};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Block tasks whose workers were silent for too long, and free what they hold
    Sweep {
        /// Only this run [default: every run that holds something]
        #[arg(long)]
        run: Option<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Sweep { run } = command;
    let caller = host::any_key(globals)?.caller;
    let answer = sweep(&mut host::open(globals)?, &caller, &Request { run: run.clone() })?;
    Ok(output.answer(&answer, || {
        let word = |value: &contract::json::Value| one_line(value.as_str().unwrap_or("-")).into_owned();
        let mut text = String::new();
        for task in &answer.timed_out {
            text.push_str(&format!(
                "{} was silent for {} s and is blocked\n",
                word(&task["task_id"]),
                task["age_seconds"]
            ));
        }
        for lock in &answer.released {
            text.push_str(&format!("{} lost {}\n", word(&lock["task_id"]), word(&lock["resource"])));
        }
        for id in &answer.denied {
            text.push_str(&format!("{id} ran out and is denied\n"));
        }
        for problem in &answer.problems {
            text.push_str(&format!("{}: {}\n", word(&problem["task_id"]), word(&problem["reason"])));
        }
        if text.is_empty() { "nobody was silent for too long".to_owned() } else { text }
    }))
}
