//! One line of a chain, in any of the three forms that are in use.

use super::{Entry, State, step};
use crate::json::Value;

pub(super) enum Line {
    Meta { id: Option<String>, started: Option<String>, epic_id: Option<String> },
    Entry(Entry),
    Other,
}

/// AO's own entries say `locked`; skills write `status` and `time`; hooks write `gate` and `status`.
pub(super) fn read(object: &Value) -> Line {
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(word) = text("step").or_else(|| text("gate")) else {
        return match (text("id"), text("started")) {
            (None, None) => Line::Other,
            (id, started) => Line::Meta { id, started, epic_id: text("epic_id") },
        };
    };
    let flag = |name: &str| object.get(name) == Some(&Value::Bool(true));
    let status = text("status");
    let state = match status.as_deref() {
        _ if flag("skipped") => State::Skipped,
        _ if flag("locked") => State::Locked,
        Some("skipped") => State::Skipped,
        Some("locked" | "completed") => State::Locked,
        _ => State::InProgress,
    };
    Line::Entry(Entry {
        step: step(&word).map_or(word, str::to_owned),
        state,
        at: text("timestamp").or_else(|| text("time")),
        output: text("output").filter(|output| !output.is_empty()),
        reason: text("reason"),
    })
}
