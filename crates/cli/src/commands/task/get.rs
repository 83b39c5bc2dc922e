//! `writ task get`

use std::process::ExitCode;

use contract::continuity::{TaskView, reason};
use contract::domain::code::ErrorCode;
use engine::inside::SOCKET_VARIABLE;
use ops::task::get::{Get, Request, open_dependencies};
use ops::{Error, Result};

use crate::app::Globals;
use crate::commands::runs::claims;
use crate::output::{Format, Output, one_line};
use crate::{host, inside};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task: its id, a unique prefix of it, its id in a plan, or its T-n
    // In a sandbox it is the own one.
    #[arg(long, required = crate::env::get(SOCKET_VARIABLE).is_none())]
    id: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let id = args.id.clone().or_else(|| inside::own_task(globals));
    let id = id.ok_or_else(|| Error::new(ErrorCode::Usage, "name the task with --id"))?;
    let request = Request { id };
    if inside::socket(globals).is_some() {
        return host::answer::<Get>(globals, output, &request, |task| text(task, &[]));
    }
    let mut cx = host::open(globals)?;
    let task = host::call_on::<Get>(&mut cx, globals, &request)?;
    if output.format != Format::Text {
        return Ok(output.answer(&task, String::new));
    }
    let needed = open_dependencies(&mut cx, &task)?;
    Ok(output.text(&text(&task, &needed)))
}

fn text(task: &TaskView, needed: &[TaskView]) -> String {
    let mut text = format!("{}\n", super::line(task));
    // The reason `dependency` would repeat the list below.
    let says_more = |text: &&str| needed.is_empty() || !reason::read(text).is_dependency();
    if let Some(reason) = task.blocked_reason.as_deref().filter(says_more) {
        text.push_str(&format!("  because {}\n", one_line(reason)));
    }
    if let Some(reason) = &task.withheld {
        text.push_str(&format!("  only claimed: {}\n", one_line(reason)));
    }
    if let Some(report) = &task.report {
        text.push_str(&claims::reported(report, "  "));
        text.push_str(&claims::differences(report, "  "));
    }
    for task in needed {
        text.push_str(&format!("  waits for {}\n", super::line(task)));
    }
    for check in &task.checks {
        text.push_str(&format!("  check {}\n", one_line(&check.line())));
    }
    if !task.description.is_empty() {
        text.push_str(&format!("\n{}\n", task.description));
    }
    text
}
