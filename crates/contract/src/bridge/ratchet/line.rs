//! One line of a chain, in any of the three forms that are in use.

use super::{RatchetEntry, RatchetState, step};
use crate::json::Value;

pub(super) enum RatchetLine {
    Meta { id: Option<String>, started: Option<String>, epic_id: Option<String> },
    Entry(RatchetEntry),
    Other,
}

/// AO's own entries say `locked`; skills write `status` and `time`; hooks write `gate` and `status`.
pub(super) fn read(object: &Value) -> RatchetLine {
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(word) = text("step").or_else(|| text("gate")) else {
        return match (text("id"), text("started")) {
            (None, None) => RatchetLine::Other,
            (id, started) => RatchetLine::Meta { id, started, epic_id: text("epic_id") },
        };
    };
    let flag = |name: &str| object.get(name) == Some(&Value::Bool(true));
    let status = text("status");
    let state = match status.as_deref() {
        _ if flag("skipped") => RatchetState::Skipped,
        _ if flag("locked") => RatchetState::Locked,
        Some("skipped") => RatchetState::Skipped,
        Some("locked" | "completed") => RatchetState::Locked,
        _ => RatchetState::InProgress,
    };
    RatchetLine::Entry(RatchetEntry {
        step: step(&word).map_or(word, str::to_owned),
        state,
        at: text("timestamp").or_else(|| text("time")),
        output: text("output").filter(|output| !output.is_empty()),
        reason: text("reason"),
    })
}
