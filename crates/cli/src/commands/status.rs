//! `writ status`

mod hooks;

use std::process::ExitCode;

use contract::continuity::brief::Counts;
use contract::domain::code::ErrorCode;
use ops::status::Status;
use ops::{Error, Result};
use serde_json::{Map, Value, json};

use crate::app::Globals;
use crate::output::Output;
use crate::{config, host};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also look whether the store answers
    #[arg(long)]
    check: bool,
}

/// Something worth knowing.
#[derive(Debug, serde::Serialize)]
struct Diagnostic {
    level: &'static str,
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_action: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let path = host::store_path(globals)?;
    let agent = host::agent_name(globals);
    let size = std::fs::metadata(&path).ok().map(|meta| meta.len());
    // A look makes nothing: what is not there is only said not to be there.
    let found = look(globals, size, agent.as_deref());
    let (hooks, mut diagnostics) = hooks::look(globals);
    let mut database = json!({
        "path": path.display().to_string(),
        "source": host::store_source(globals),
        "ok": found.is_ok(),
    });
    if let Some(size) = size {
        database["size_bytes"] = json!(size);
    }
    let mut data = json!({"hooks": hooks, "maintenance": maintenance()});
    match &found {
        Ok(status) => {
            data["counts"] = counts(status);
            data["runs"] = json!({"running": status.running, "stopped": status.stopped});
            if let Some(agent) = &status.agent {
                data["agent_state"] = json!(agent);
            }
        }
        Err(error) => {
            database["error"] = json!(said(error));
            diagnostics.insert(0, unopened(error));
            data["hint"] = json!(error.hint);
        }
    }
    if args.check {
        data["query_ok"] = json!(found.is_ok());
        if let Err(error) = &found {
            data["query_error"] = json!(said(error));
        }
    }
    data["db"] = database;
    if !diagnostics.is_empty() {
        data["diagnostics"] = json!(diagnostics);
    }
    Ok(output.answer(&data, || text(&path.display().to_string(), size, &found, &diagnostics)))
}

fn look(globals: &Globals, size: Option<u64>, agent: Option<&str>) -> Result<Status> {
    match size {
        None => {
            let message = "there is no store yet";
            Err(Error::new(ErrorCode::NotFound, message).hint("the first command that writes makes it"))
        }
        Some(0) => {
            let message = "the store's file is empty";
            Err(Error::new(ErrorCode::NotFound, message).hint("the first command that writes fills it"))
        }
        Some(_) => ops::status::status(&mut host::open(globals)?, agent),
    }
}

fn said(error: &Error) -> String {
    match &error.source {
        Some(source) => format!("{}: {source}", error.message),
        None => error.message.clone(),
    }
}

fn unopened(error: &Error) -> Diagnostic {
    let level = if error.code == ErrorCode::NotFound { "info" } else { "error" };
    Diagnostic {
        level,
        code: error.code.as_str().to_owned(),
        message: said(error),
        suggested_action: error.hint.clone(),
    }
}

/// What hooks and `writ gc` do about old events.
fn maintenance() -> Value {
    let retention =
        config::load(&host::absolute(".".into())).map(|config| config.retention).unwrap_or_default();
    json!({
        "retention_days": retention.events_retention_days,
        "prune_batch": retention.events_prune_batch,
        "summarize_threshold": retention.events_summarize_threshold,
        "summarize_keep_recent": retention.events_summarize_keep_recent,
    })
}

fn counts(status: &Status) -> Value {
    let total: i64 = status.tasks.iter().map(|(_, count)| count).sum();
    let Counts { pending, in_progress, completed, blocked } = status.counts;
    let named =
        [("pending", pending), ("in_progress", in_progress), ("completed", completed), ("blocked", blocked)];
    let there = named.into_iter().filter(|(_, count)| *count > 0);
    let mut states: Map<String, Value> =
        there.map(|(state, count)| (state.to_owned(), json!(count))).collect();
    states.insert("total".to_owned(), json!(total));
    // Every task is in a state that is known; the contract has a place for others.
    states.insert("unknown".to_owned(), json!(0));
    json!({
        "tasks": total,
        "events": status.events,
        "memory": status.memories,
        "agents": status.agents,
        "projects": status.projects,
        "tasks_detail": states,
        "events_detail": {"active": status.events - status.archived_events, "archived": status.archived_events},
        "memory_detail": {
            "active": status.memories - status.expired_memories,
            "expired": status.expired_memories,
        },
        "agents_detail": {"active_7d": status.active_agents},
    })
}

fn text(path: &str, size: Option<u64>, found: &Result<Status>, diagnostics: &[Diagnostic]) -> String {
    let mut text = match found {
        Ok(status) => {
            let size = size.unwrap_or(0);
            let tasks: Vec<String> =
                status.tasks.iter().map(|(state, count)| format!("{count} {state}")).collect();
            let tasks = if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") };
            format!(
                "store    {path} ({size} bytes, {} events)\ntasks    {tasks}\nrunning  {}\nstopped  {}\n",
                status.events,
                names(&status.running),
                names(&status.stopped)
            )
        }
        Err(_) => format!("store    {path}\n"),
    };
    for diagnostic in diagnostics {
        text.push_str(&format!("{:<8} {}\n", diagnostic.level, diagnostic.message));
    }
    text
}

fn names(runs: &[String]) -> String {
    if runs.is_empty() { "none".to_owned() } else { runs.join(" ") }
}
