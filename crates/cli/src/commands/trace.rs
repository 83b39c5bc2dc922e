//! `writ trace`

use std::process::ExitCode;

use contract::aocl::intents;
use contract::domain::attempt::AttemptState;
use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::crew::lock::was_taken;
use contract::domain::run::ShownState;
use contract::json::Value;
use ops::names::LAST;
use ops::run::shown_state;
use ops::run::trace::{Answer, Events, events};
use ops::{LoggedEvent, Result};

use crate::app::Globals;
use crate::output::{Format, Output, one_line};
use crate::{failed_check, host};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  writ trace\n  writ trace run_3f56 --all\n  writ trace run_3f56 --output ndjson"
)]
pub(crate) struct Args {
    /// The run's id, a unique prefix of it, or a correlation id [default: @last, the newest run]
    #[arg(default_value = LAST, hide_default_value = true)]
    which: String,
    /// Show every event, not only those of layers and executors
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let found = events(&mut cx, &host::reader(globals), &args.which)?;
    match output.format {
        Format::Text => {
            let state = found.run.as_ref().map(|run| shown_state(&mut cx, run));
            Ok(output.text(&text(&found, state, args.all)))
        }
        Format::Ndjson => {
            let lines = Answer::from(&found).envelopes.into_iter().map(|envelope| format!("{envelope}\n"));
            Ok(output.text(&lines.collect::<String>()))
        }
        Format::Json => Ok(output.envelope(true, &Answer::from(&found))),
    }
}

fn text(found: &Events, state: Option<ShownState>, all: bool) -> String {
    let mut text = String::new();
    if let (Some(run), Some(state)) = (&found.run, state) {
        let asked = &run.asked;
        text.push_str(&format!("{}  {}  {}\n", asked.id, state.as_str(), one_line(&asked.objective)));
        text.push_str(&format!("corr {}  by {}\n\n", one_line(&asked.corr), one_line(&asked.requested_by)));
    }
    if let Some(removed) = found.removed {
        text.push_str(&format!("{removed} older events were removed by `writ gc`\n\n"));
    }
    for event in &found.events {
        match event.record.intent.as_str() {
            intents::LAYER_DECISION => text.push_str(&layer(event)),
            _ if event.record.r#type != "event" => text.push_str(&exchanged(event)),
            intents::CONTROL_BRANCH | intents::RUN_SUMMARY => {
                text.push_str(&noted(&event.record.intent, &event.record.message));
            }
            _ if event.record.is_change && event.record.kind == ATTEMPT_ENDED => {
                if all {
                    text.push_str(&noted(&event.record.kind, &event.record.message));
                }
                text.push_str(&lost_attempt(event));
                text.push_str(&failed_checks(event));
            }
            ROLLBACK_INITIATED | PRIORITY_ESCALATION => {
                let message = &event.record.message;
                let (name, message) = message.split_once(": ").unwrap_or((&event.record.kind, message));
                text.push_str(&noted(name, message));
            }
            VERSION_FALLBACK => text.push_str(&noted("VERSION_FALLBACK", &event.record.message)),
            FINAL_REPORT => text.push_str(&noted("SESSION_FINAL_REPORT", &event.record.message)),
            PROGRESS_UPDATE => text.push_str(&noted("PROGRESS_UPDATE", &event.record.message)),
            LATE | SILENT | LOCK_TAKEN_OVER => {
                text.push_str(&noted(&event.record.intent, &event.record.message));
            }
            _ if is_taken_lock(event) => text.push_str(&noted(&event.record.kind, &event.record.message)),
            _ if all => text.push_str(&noted(&event.record.kind, &event.record.message)),
            _ => {}
        }
    }
    text
}

/// The kind of the event that holds what writ observed about an attempt.
const ATTEMPT_ENDED: &str = "attempt_ended";

/// The intent of the event with the results of a rollback.
const ROLLBACK_INITIATED: &str = "writ.rollback_initiated";

/// The intent of a priority change.
const PRIORITY_ESCALATION: &str = "writ.priority_escalation";

/// The intent of the event that a TASK is sent as a v1 prompt.
const VERSION_FALLBACK: &str = "writ.version_fallback";

/// The intent of the event with the results of a session.
const FINAL_REPORT: &str = "writ.session_final_report";

/// The intent of the event with what an executor said about its progress.
const PROGRESS_UPDATE: &str = "writ.progress_update";

/// The intents of the notes that a task is late, or missed its heartbeats.
const LATE: &str = "writ.task.late";
const SILENT: &str = "writ.task.silent";

/// The intent of the note that a task got a lock which was taken from another one.
const LOCK_TAKEN_OVER: &str = "writ.lock.taken_over";

/// Whether a lock was taken from the task, by a sweep or by a person.
fn is_taken_lock(event: &LoggedEvent) -> bool {
    let reason = event.record.payload.pointer("/reason").and_then(Value::as_str);
    event.record.is_change && event.record.kind == LOCKS_RELEASED && reason.is_some_and(was_taken)
}

/// The kind of the event with which locks are released.
const LOCKS_RELEASED: &str = "locks_released";

/// Explains an attempt with an unknown outcome, such as one that lost its locks.
fn lost_attempt(event: &LoggedEvent) -> String {
    let payload = &event.record.payload;
    let word = |path: &str| payload.pointer(path).and_then(Value::as_str).unwrap_or_default();
    if word("/state") != AttemptState::Unknown.as_str() {
        return String::new();
    }
    noted(&event.record.kind, word("/outcome/message"))
}

/// The checks of an attempt that did not pass.
fn failed_checks(event: &LoggedEvent) -> String {
    let checks = event.record.payload.pointer("/outcome/checks").cloned().unwrap_or_default();
    let checks: Vec<CheckSeen> = serde_json::from_value(checks).unwrap_or_default();
    first_failed(&checks).map(|check| failed_check::text(check, 2)).unwrap_or_default()
}

fn noted(what: &str, message: &str) -> String {
    format!("  ·  {:<22} {}\n", one_line(what), one_line(message))
}

/// One layer: how long it took, what it decided and changed, and the digests that bind it to its neighbors.
fn layer(event: &LoggedEvent) -> String {
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
fn exchanged(event: &LoggedEvent) -> String {
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
