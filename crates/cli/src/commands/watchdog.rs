//! `writ watchdog`

use std::process::ExitCode;

use contract::json::Value;
use ops::Result;
use ops::watchdog::{Answer, Request, Sweep};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Block tasks without heartbeats and release their locks
    #[command(after_help = "Examples:
  writ watchdog sweep
  writ watchdog sweep --run RUN")]
    Sweep {
        /// Only this run [default: every run with an expired lock]
        #[arg(long)]
        run: Option<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Sweep { run } = command;
    host::answer::<Sweep>(globals, output, &Request { run: run.clone() }, text)
}

fn text(answer: &Answer) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    let mut text = String::new();
    for task in &answer.timed_out {
        let (name, age) = (word(&task["task_id"]), &task["age_seconds"]);
        text.push_str(&format!("{name}: no heartbeat for {age} s, blocked\n"));
    }
    for lock in &answer.released {
        text.push_str(&format!("{}: released {}\n", word(&lock["task_id"]), word(&lock["resource"])));
    }
    for lock in &answer.kept {
        let (task, resource, reason) =
            (word(&lock["task_id"]), word(&lock["resource"]), word(&lock["reason"]));
        text.push_str(&format!("{task}: {resource} stays locked, {reason}\n"));
        if let Some(remedy) = lock["remedy"].as_str() {
            text.push_str(&format!("  {}\n", one_line(remedy)));
        }
    }
    for id in &answer.denied {
        text.push_str(&format!("{id}: the deadline has passed, denied\n"));
    }
    for problem in &answer.problems {
        text.push_str(&format!("{}: {}\n", word(&problem["task_id"]), word(&problem["reason"])));
    }
    if answer.not_looked_at > 0 {
        text.push_str(&format!(
            "{} more assignments were not looked at; name their runs with --run\n",
            answer.not_looked_at
        ));
    }
    if text.is_empty() { "nothing timed out".to_owned() } else { text }
}
