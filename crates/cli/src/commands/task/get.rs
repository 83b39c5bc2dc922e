//! `writ task get`

use std::process::ExitCode;

use ops::Result;
use ops::task::get::{Get, Request};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task: its id, a unique prefix of it, its id in a plan, or its T-n
    #[arg(long)]
    id: String,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { id: args.id.clone() };
    host::answer::<Get>(globals, output, &request, |task| {
        let mut text = format!("{}\n", super::line(task));
        if let Some(reason) = &task.blocked_reason {
            text.push_str(&format!("  because {reason}\n"));
        }
        for check in &task.checks {
            text.push_str(&format!("  check {}\n", one_line(&check.line())));
        }
        if !task.description.is_empty() {
            text.push_str(&format!("\n{}\n", task.description));
        }
        text
    })
}
