//! `writ loop stats`

use std::process::ExitCode;

use contract::continuity::EventView;
use contract::domain::limits;
use ops::Result;
use ops::event::list::{Request, events};
use ops::event::view;
use ops::verb::Surface;
use serde_json::{Value, json};

use crate::app::Globals;
use crate::host;
use crate::local::LocalCommand;
use crate::output::Output;

pub(super) const LOCAL: LocalCommand = LocalCommand::reads("loop stats", Surface::Continuity);

/// How many loops are shown by default.
const LAST: usize = 7;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ loop stats\n  writ loop stats --last 20 --project-id .")]
pub(super) struct Args {
    /// Only the newest loops, at most this many
    #[arg(long, default_value_t = LAST, allow_negative_numbers = true)]
    last: usize,
    /// Only loops in this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
}

pub(super) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request {
        agent: host::agent_name(globals),
        kind: Some("run_completed".to_owned()),
        limit: Some(limits::LIST_ROWS_MAX),
        ..Request::default()
    };
    let events = events(&mut host::open(globals)?, &request)?;
    // An agent may use the same word for something of its own, which is then not said in writ's name.
    let of_loops = events.iter().filter(|event| !event.record.intent.starts_with("agent."));
    // The agent contract takes 0 for the usual number.
    let last = if args.last == 0 { LAST } else { args.last };
    let project = args.project_id.as_deref().map(host::workspace);
    let fits = |event: &EventView| project.is_none() || event.project_id == project;
    let rows: Vec<Value> = of_loops.map(view).filter(fits).take(last).map(|event| row(&event)).collect();
    let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_f64()).sum::<f64>();
    let average = |name: &str| mean(sum(name), sum_of(rows.len()));
    let data = json!({
        "runs": rows.len(),
        "avg_completed": average("completed"),
        "avg_failed": average("failed"),
        "blocked_rate": mean(sum("failed"), sum("total")),
        "avg_duration_sec": average("duration_sec"),
        "history": rows,
    });
    Ok(output.answer(&data, || text(&data)))
}

fn sum_of(rows: usize) -> f64 {
    u32::try_from(rows).map_or(f64::from(u32::MAX), f64::from)
}

fn mean(sum: f64, over: f64) -> f64 {
    if over > 0.0 { engine::looping::rounded(sum / over) } else { 0.0 }
}

fn row(event: &EventView) -> Value {
    let mut row = json!({
        "event_id": event.id,
        "agent_name": event.agent_name,
        "created_at": event.created_at,
    });
    if let Some(project) = &event.project_id {
        row["project_id"] = json!(project);
    }
    for name in ["completed", "failed", "total", "duration_sec"] {
        row[name] = event.metadata.get(name).filter(|value| value.is_number()).cloned().unwrap_or(json!(0));
    }
    row
}

fn text(data: &Value) -> String {
    let rows = data["history"].as_array().into_iter().flatten();
    let line = |row: &Value| {
        let agent = row["agent_name"].as_str().unwrap_or_default();
        let at = row["created_at"].as_str().unwrap_or_default();
        format!(
            "{at}  {agent:<20}  {} completed, {} failed, {} s\n",
            row["completed"], row["failed"], row["duration_sec"]
        )
    };
    let mut text: String = rows.map(line).collect();
    text.push_str(&format!("{} loops, {} completed on average\n", data["runs"], data["avg_completed"]));
    text
}
