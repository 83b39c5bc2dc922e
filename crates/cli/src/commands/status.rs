//! `writ status`

mod hooks;

use std::process::ExitCode;

use contract::continuity::brief::TaskCounts;
use contract::domain::code::ErrorCode;
use contract::domain::epoch::Halt;
use contract::domain::time::Clock;
use ops::host::Installation;
use ops::status::{AgentView, Answer, CountsView, Request, RunsView, Show};
use ops::{Error, Result};

use crate::app::Globals;
use crate::clock::SystemClock;
use crate::output::{Output, one_line};
use crate::{config, host, original};

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
        let agent = request.agent.as_deref().filter(|_| error.code == ErrorCode::NotFound);
        let agent_state = agent.map(|name| AgentView::unseen(name, SystemClock::new().now().at));
        let unopened = ops::status::unopened(&path.display().to_string(), installation, &error, args.check);
        Answer { agent_state, ..unopened }
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
    let (hooks, mut diagnostics) = hooks::look(globals);
    diagnostics.extend(original::diagnostic(globals));
    Installation {
        store_source: source(globals),
        store_bytes: std::fs::metadata(store).ok().map(|meta| meta.len()),
        hooks,
        // A configuration that cannot be read is reported by `writ doctor`; until then the defaults hold.
        retention: config::load(&host::absolute(".".into()))
            .map(|config| config.retention)
            .unwrap_or_default(),
        diagnostics,
    }
}

/// What decided where the store is, in the agent contract's words.
fn source(globals: &Globals) -> String {
    match host::store_source(globals) {
        flag if flag.starts_with("--") => format!("cli({flag})"),
        "default" => "default".to_owned(),
        variable => format!("env({variable})"),
    }
}

fn text(answer: &Answer) -> String {
    let path = &answer.db.path;
    let mut text = answer.halted.as_ref().map(halted).unwrap_or_default();
    text.push_str(&match (&answer.counts, &answer.runs) {
        (Some(counts), Some(runs)) => {
            let bytes = answer.db.size_bytes.unwrap_or(0);
            let hint = interrupted(runs, answer.halted.is_some());
            format!("{}{hint}", counted(path, bytes, counts, runs))
        }
        (None, _) | (_, None) => format!("store    {path}\n"),
    });
    for limit in &answer.limits {
        text.push_str(&format!("limit    {}", super::limits::line(limit)));
    }
    text.push_str(&hooks::text(&answer.hooks));
    for diagnostic in &answer.diagnostics {
        text.push_str(&format!("{:<8} {}\n", diagnostic.level, diagnostic.message));
    }
    text
}

fn halted(halt: &Halt) -> String {
    let reason = halt.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    format!("HALTED   by {} at {}{reason}\nhint     lift it with `writ resume-all`\n", halt.by, halt.at)
}

fn counted(path: &str, bytes: u64, counts: &CountsView, runs: &RunsView) -> String {
    let TaskCounts { pending, in_progress, completed, blocked } = counts.tasks;
    let states =
        [("pending", pending), ("in_progress", in_progress), ("completed", completed), ("blocked", blocked)];
    let some = states.into_iter().filter(|(_, tasks)| *tasks > 0);
    let tasks: Vec<String> = some.map(|(state, tasks)| format!("{tasks} {state}")).collect();
    let tasks = if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") };
    format!(
        "store    {path} ({bytes} bytes, {} events)\ntasks    {tasks}\nrunning  {}\nstopped  {}\n",
        counts.events,
        names(&runs.running),
        names(&runs.stopped)
    )
}

/// Interrupted runs and how to continue them.
fn interrupted(runs: &RunsView, is_halted: bool) -> String {
    let Some(first) = runs.interrupted.first() else { return String::new() };
    let hint = if is_halted {
        String::new()
    } else {
        format!("hint     continue with `writ run --continue {first}`\n")
    };
    format!("interrupted  {}\n{hint}", names(&runs.interrupted))
}

fn names(runs: &[String]) -> String {
    if runs.is_empty() { "none".to_owned() } else { runs.join(" ") }
}
