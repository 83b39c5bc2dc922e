//! `writ status`

use std::process::ExitCode;

use ops::Result;
use serde_json::{Map, Value, json};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let agent = host::agent_name(globals);
    let mut cx = host::open(globals)?;
    let status = ops::status::status(&mut cx, agent.as_deref())?;
    let path = cx.store_path().display().to_string();
    let size = std::fs::metadata(cx.store_path()).map_or(0, |meta| meta.len());
    let counts: Map<String, Value> =
        status.tasks.iter().map(|(state, count)| (state.clone(), json!(count))).collect();
    let total: i64 = status.tasks.iter().map(|(_, count)| count).sum();
    let mut data = json!({
        "db": {"path": path, "source": host::store_source(globals), "ok": true, "size_bytes": size},
        "counts": {"tasks": total, "events": status.events, "tasks_detail": counts},
        "runs": {"running": status.running, "stopped": status.stopped},
    });
    if let Some(agent) = agent {
        data["agent_state"] = json!({"agent_name": agent, "focus_task_id": status.focus_task_id});
    }
    Ok(output.answer(&data, || {
        let mut text = format!("store    {path} ({size} bytes, {} events)\n", status.events);
        let tasks: Vec<String> =
            status.tasks.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let tasks = if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") };
        text.push_str(&format!("tasks    {tasks}\n"));
        text.push_str(&format!("running  {}\n", names(&status.running)));
        text.push_str(&format!("stopped  {}\n", names(&status.stopped)));
        text
    }))
}

fn names(runs: &[String]) -> String {
    if runs.is_empty() { "none".to_owned() } else { runs.join(" ") }
}
