//! `writ status`

mod hooks;

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::host::Installation;
use ops::status::{Answer, CountsView, Request, RunsView, Show};
use ops::{Error, Result};

use crate::app::Globals;
use crate::output::Output;
use crate::{config, host};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ status\n  writ status --check --output json")]
pub(crate) struct Args {
    /// Also report whether the store answers
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let path = host::store_path(globals)?;
    let request = Request { agent: host::agent_name(globals), check: args.check };
    // Showing the status makes no store: a missing one is reported.
    let found = exists(&path).and_then(|()| host::call::<Show>(globals, &request));
    let answer = found.unwrap_or_else(|error| {
        let installation = installation(globals, &path);
        ops::status::unopened(&path.display().to_string(), installation, &error, args.check)
    });
    Ok(output.answer(&answer, || text(&answer)))
}

fn exists(path: &std::path::Path) -> Result<()> {
    match std::fs::metadata(path).map(|meta| meta.len()) {
        Err(_) => Err(Error::new(ErrorCode::NotFound, "there is no store yet")
            .hint("the first command that writes makes it")),
        Ok(0) => Err(Error::new(ErrorCode::NotFound, "the store's file is empty")
            .hint("the first command that writes fills it")),
        Ok(_) => Ok(()),
    }
}

/// How this installation is set up around a store.
pub(crate) fn installation(globals: &Globals, store: &std::path::Path) -> Installation {
    let (hooks, diagnostics) = hooks::look(globals);
    Installation {
        store_source: host::store_source(globals).to_owned(),
        store_bytes: std::fs::metadata(store).ok().map(|meta| meta.len()),
        hooks,
        // A configuration that cannot be read is reported by `writ doctor`; until then the defaults hold.
        retention: config::load(&host::absolute(".".into()))
            .map(|config| config.retention)
            .unwrap_or_default(),
        diagnostics,
    }
}

fn text(answer: &Answer) -> String {
    let path = &answer.db.path;
    let mut text = match (&answer.counts, &answer.runs) {
        (Some(counts), Some(runs)) => counted(path, answer.db.size_bytes.unwrap_or(0), counts, runs),
        (None, _) | (_, None) => format!("store    {path}\n"),
    };
    for diagnostic in &answer.diagnostics {
        text.push_str(&format!("{:<8} {}\n", diagnostic.level, diagnostic.message));
    }
    text
}

fn counted(path: &str, bytes: u64, counts: &CountsView, runs: &RunsView) -> String {
    let detail = &counts.tasks_detail;
    let states = [
        ("pending", detail.pending),
        ("in_progress", detail.in_progress),
        ("completed", detail.completed),
        ("blocked", detail.blocked),
    ];
    let tasks: Vec<String> =
        states.into_iter().filter_map(|(state, tasks)| Some(format!("{} {state}", tasks?))).collect();
    let tasks = if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") };
    format!(
        "store    {path} ({bytes} bytes, {} events)\ntasks    {tasks}\nrunning  {}\nstopped  {}\n",
        counts.events,
        names(&runs.running),
        names(&runs.stopped)
    )
}

fn names(runs: &[String]) -> String {
    if runs.is_empty() { "none".to_owned() } else { runs.join(" ") }
}
