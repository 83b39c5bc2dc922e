//! Wraps whole AOP messages in AEE envelopes.

use serde_json::{Value, json};

use crate::aee::{LOG_SINK, VERSION, shape::ID_CHARS_MIN};
use crate::convert::ConvertContext;
use crate::convert::source::ConvertSource;
use crate::digest::uuid_for;
use crate::intake::RUN_TASK;

/// A TASK as an AEE task for writ or another runner.
pub(in crate::convert) fn task(source: &mut ConvertSource<'_>, _: &ConvertContext) -> Value {
    let orchestrator = named(source.text("/session/orchestrator"));
    let agent = named(source.text("/target/agent_name"));
    let session = source.text("/session/session_id").unwrap_or_default().to_owned();
    let priority = priority(source.text("/task/priority"));
    let guarded = source.number("/guard_rails/timeout_seconds");
    let timeout = guarded.or_else(|| source.number("/execution_policy/timeout_seconds"));
    let message = source.whole();
    let requires = timeout.map(|seconds| json!({"timeout_ms": seconds.saturating_mul(1000)}));
    json!({
        "v": VERSION,
        "id": uuid_for(&message.to_string()),
        "ts": message["session"]["created_at"],
        "type": "task",
        "from": orchestrator,
        "to": agent,
        "intent": RUN_TASK,
        "corr": correlation(&session),
        "priority": priority,
        "requires": requires,
        "payload": {"task": message},
    })
}

/// An EVENT as an event for the log.
pub(in crate::convert) fn event(source: &mut ConvertSource<'_>, _: &ConvertContext) -> Value {
    let kind = source.text("/event").unwrap_or_default().to_lowercase();
    let agent = named(source.text("/agent"));
    let session =
        source.text("/session_id").or_else(|| source.text("/task_id")).unwrap_or("unknown").to_owned();
    let message = source.whole();
    json!({
        "v": VERSION,
        "id": uuid_for(&message.to_string()),
        "ts": message["timestamp"],
        "type": "event",
        "from": agent,
        "to": LOG_SINK,
        "intent": format!("aop.event.{kind}"),
        "corr": correlation(&session),
        "priority": "normal",
        "payload": {"event": message},
    })
}

/// A correlation id has at least eight characters; it contains a shorter session id.
fn correlation(session: &str) -> String {
    if session.chars().count() >= ID_CHARS_MIN { session.to_owned() } else { format!("session-{session}") }
}

/// `Emma` is `agent.emma`.
fn named(name: Option<&str>) -> String {
    let word: String =
        name.unwrap_or("unknown")
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c.to_ascii_lowercase() } else { '-' }
            })
            .collect();
    format!("agent.{word}")
}

fn priority(word: Option<&str>) -> &'static str {
    match word {
        Some("LOW") => "low",
        Some("HIGH") => "high",
        Some("CRITICAL") => "urgent",
        _ => "normal",
    }
}
