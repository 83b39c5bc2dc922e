//! `writ trace`

use std::process::ExitCode;

use contract::aocl::intents;
use contract::domain::code::ErrorCode;
use contract::domain::run::Run;
use contract::json::Value;
use ops::{Error, Event, Result};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run, an unambiguous beginning of its id, or a correlation
    which: String,
    /// Show every event, not only what the layers and executors did
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let (run, events) = trace(&mut cx, &args.which)?;
    let removed =
        run.as_ref().map(|run| ops::run::show::removed_events(&mut cx, &run.asked.id)).transpose()?;
    let removed = removed.filter(|events| *events > 0);
    match output.format {
        Format::Text => Ok(output.text(&text(run.as_ref(), &events, removed, args.all))),
        Format::Ndjson => {
            let lines =
                events.iter().filter_map(|event| serde_json::to_string(&ops::event::envelope(event)).ok());
            Ok(output.text(&lines.map(|line| line + "\n").collect::<String>()))
        }
        Format::Json => {
            let envelopes: Vec<_> = events.iter().map(ops::event::envelope).collect();
            let corr = events.first().map(|event| event.record.corr.clone());
            let run_id = run.map(|run| run.asked.id);
            let mut data = json!({"run_id": run_id, "corr": corr, "envelopes": envelopes});
            if let Some(removed) = removed {
                data["removed_events"] = json!(removed);
            }
            Ok(output.envelope(true, &data))
        }
    }
}

/// By run or by correlation; a task outside a run is its own correlation.
fn trace(cx: &mut ops::Context, which: &str) -> Result<(Option<Run>, Vec<Event>)> {
    match ops::run::show::trace(cx, which) {
        Ok((run, mut events)) => {
            // Others may share the correlation; asked for by its id, a run shows only what is its own.
            if which != run.asked.corr {
                events.retain(|event| event.record.run_id.as_deref() == Some(run.asked.id.as_str()));
            }
            Ok((Some(run), events))
        }
        Err(error) if error.code == ErrorCode::NotFound => {
            let events = ops::event::by_corr(cx, which)?;
            if events.is_empty() { Err(Error::not_found("trace", which)) } else { Ok((None, events)) }
        }
        Err(error) => Err(error),
    }
}

fn text(run: Option<&Run>, events: &[Event], removed: Option<i64>, all: bool) -> String {
    let mut text = String::new();
    if let Some(run) = run {
        let asked = &run.asked;
        text.push_str(&format!("{}  {}  {}\n", asked.id, run.state.as_str(), one_line(&asked.objective)));
        text.push_str(&format!("corr {}  by {}\n\n", one_line(&asked.corr), one_line(&asked.requested_by)));
    }
    if let Some(removed) = removed {
        text.push_str(&format!("{removed} older events were removed when their time was over\n\n"));
    }
    for event in events {
        match event.record.intent.as_str() {
            intents::LAYER_DECISION => text.push_str(&layer(event)),
            _ if event.record.r#type != "event" => text.push_str(&exchanged(event)),
            intents::CONTROL_BRANCH | intents::RUN_SUMMARY => {
                text.push_str(&noted(&event.record.intent, &event.record.message));
            }
            _ if all => text.push_str(&noted(&event.record.kind, &event.record.message)),
            _ => {}
        }
    }
    text
}

fn noted(what: &str, message: &str) -> String {
    format!("  ·  {:<22} {}\n", one_line(what), one_line(message))
}

/// One layer: when, how long, what was decided, what it changed, and the digests that bind it to its neighbours.
fn layer(event: &Event) -> String {
    let payload = &event.record.payload;
    let words = |path: &str| payload.pointer(path).and_then(Value::as_str).unwrap_or("");
    let mut badges = String::new();
    if payload.pointer("/control/halt_pipeline") == Some(&Value::Bool(true)) {
        badges.push_str(" [HALT]");
    }
    if payload.pointer("/control/branch_to").is_some_and(|branch| !branch.is_null()) {
        badges.push_str(" [BRANCH]");
    }
    let timing = payload.get("timing_ms").and_then(Value::as_u64).unwrap_or(0);
    let mut text = format!("{:<22} {:>6} ms{badges}\n", words("/layer/id"), timing);
    for decision in payload.get("decisions").and_then(Value::as_array).into_iter().flatten() {
        let field = |name: &str| decision.get(name).and_then(Value::as_str).unwrap_or("");
        text.push_str(&format!("    {}: {}\n", one_line(field("code")), one_line(field("reason"))));
    }
    if let Some(delta) = payload.get("delta").and_then(Value::as_object) {
        for (path, value) in delta {
            text.push_str(&format!("    {} = {}\n", one_line(path), short(&value.to_string())));
        }
    }
    let digest = |path: &str| {
        words(path).strip_prefix("sha256:").map_or("-", |hex| &hex[..hex.len().min(12)]).to_owned()
    };
    text.push_str(&format!("    {} -> {}\n", digest("/digests/context_in"), digest("/digests/context_out")));
    text
}

/// A request, a delegation or an answer.
fn exchanged(event: &Event) -> String {
    let record = &event.record;
    format!(
        "  {:<6} {} -> {}  {}  {}\n",
        record.r#type,
        one_line(&record.from),
        one_line(&record.to),
        one_line(&record.intent),
        one_line(&record.message)
    )
}

fn short(text: &str) -> String {
    const SHOWN: usize = 80;
    if text.chars().count() <= SHOWN {
        text.to_owned()
    } else {
        text.chars().take(SHOWN).chain(['…']).collect()
    }
}
