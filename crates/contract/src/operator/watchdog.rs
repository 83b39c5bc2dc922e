//! Finds tasks whose heartbeat timed out. Time is an argument.

use std::time::Duration;

use serde_json::{Value, json};

use super::assignment::check_heartbeat;
use super::document::{self, objects};
use super::ids::RunId;
use super::options::Options;
use super::report::FindingReport;
use super::rules::OperatorRule;
use crate::domain::crew::row::{HEARTBEAT, TIMEOUT};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::status::Status;
use crate::domain::time::Timestamp;
use crate::shape::{Described, Object, Shape, TEXT, UTC, Unknown, list, optional, required};
use crate::verdict::Verdict;

const KIND: &str = "watchdog";

/// The state of a heartbeat at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeartbeatState {
    /// Within the timeout, including its exact end.
    Live {
        age: Duration,
    },
    TimedOut {
        age: Duration,
    },
    /// Further ahead than clocks may differ.
    InFuture,
}

/// Validates one heartbeat. A clock that is ahead by no more than the allowed skew counts as now.
pub fn liveness(now: Timestamp, heartbeat: Timestamp, timeout: Duration) -> HeartbeatState {
    if heartbeat.since(now) > limits::CLOCK_SKEW_MAX {
        return HeartbeatState::InFuture;
    }
    let age = now.since(heartbeat);
    if age > timeout { HeartbeatState::TimedOut { age } } else { HeartbeatState::Live { age } }
}

/// Whether the heartbeat of a task in progress timed out.
pub fn timed_out(now: Timestamp, heartbeat: Timestamp, timeout: Duration) -> bool {
    matches!(liveness(now, heartbeat, timeout), HeartbeatState::TimedOut { .. })
}

/// The later of two heartbeats: one that arrives late does not move the time back.
pub fn latest_heartbeat(known: Option<Timestamp>, heard: Timestamp) -> Timestamp {
    known.map_or(heard, |known| known.max(heard))
}

/// The state of all tasks at one time.
pub static WATCHDOG: Object = Object {
    name: "operator_watchdog",
    about: "The tasks of a run and the time at which their heartbeats are checked.",
    fields: &[
        required("now", UTC, "The time at which heartbeats are checked."),
        required("tasks", list!(Shape::Object(&TASK)), ""),
        optional("schema_version", TEXT, "Version of the contract."),
        optional("run_id", RunId::SHAPE, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static TASK: Object = Object {
    name: "operator_watched_task",
    about: "",
    fields: &[
        required("task_id", TaskRef::SHAPE, ""),
        required("status", Status::SHAPE, "Only tasks in progress are checked."),
        optional("timeout_seconds", Shape::Nullable(&TIMEOUT), "At least 30."),
        optional(
            "heartbeat_interval_seconds",
            Shape::Nullable(&HEARTBEAT),
            "At least 5, less than the timeout.",
        ),
        optional("last_heartbeat_at", Shape::Nullable(&UTC), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Validates the heartbeats of all tasks in progress. `timed_out` in the details lists those that timed out.
pub fn validate_watchdog(bytes: &[u8], options: &Options) -> Verdict {
    let document = match document::read(KIND, bytes) {
        Ok(document) => document,
        Err(refusal) => return *refusal,
    };
    let mut report = document::structure(&WATCHDOG, &document, options);
    let now = document["now"].as_str().and_then(Timestamp::parse_utc);
    for (index, task) in objects(&document["tasks"]) {
        if task["status"] == "in_progress" {
            let at = format!("$.tasks[{index}]");
            check_heartbeat(task, &at, &mut report);
            check_task(task, &at, now, &mut report);
        }
    }
    if report.is_clean() {
        report.note("timed_out_count", 0);
    }
    report.verdict(KIND, "watchdog check passed")
}

fn check_task(task: &Value, at: &str, now: Option<Timestamp>, report: &mut FindingReport) {
    if task.get("timeout_seconds").is_none_or(Value::is_null) {
        report.fault(
            format!("{at}.timeout_seconds"),
            OperatorRule::Integer,
            "a task in progress needs a timeout",
        );
    }
    let Some(heard) = task.get("last_heartbeat_at").filter(|heard| !heard.is_null()) else {
        let message = "a task in progress needs a heartbeat";
        return report.fault(format!("{at}.last_heartbeat_at"), OperatorRule::HeartbeatMissing, message);
    };
    let heartbeat = heard.as_str().and_then(Timestamp::parse_utc);
    let (Some(now), Some(heartbeat)) = (now, heartbeat) else { return };
    let timeout = seconds(&task["timeout_seconds"]).unwrap_or(Duration::MAX);
    match liveness(now, heartbeat, timeout) {
        HeartbeatState::InFuture => {
            let message = format!("is more than {} s ahead of now", limits::CLOCK_SKEW_MAX.as_secs());
            report.fault(format!("{at}.last_heartbeat_at"), OperatorRule::HeartbeatInFuture, message);
        }
        HeartbeatState::TimedOut { age } => {
            let message =
                format!("no heartbeat for {} s; the timeout is {} s", age.as_secs(), timeout.as_secs());
            report.fault(format!("{at}.last_heartbeat_at"), OperatorRule::HeartbeatTooOld, message);
            report.list(
                "timed_out",
                json!({
                    "task_id": task["task_id"],
                    "last_heartbeat_at": heard,
                    "timeout_seconds": timeout.as_secs(),
                    "age_seconds": age.as_secs(),
                }),
            );
        }
        HeartbeatState::Live { age } => {
            let interval = seconds(&task["heartbeat_interval_seconds"]);
            if interval.is_some_and(|interval| age > interval.saturating_mul(2)) {
                let message = format!("no heartbeat for {} s, more than two intervals", age.as_secs());
                report.warn(format!("{at}.last_heartbeat_at"), OperatorRule::HeartbeatTooOld, message);
            }
        }
    }
}

/// An optional whole number of seconds in a document.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

/// Whether a worker that sends heartbeats also does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerProgress {
    /// The files in its scope are others than when they were last seen, or are seen for the first time.
    Changed,
    None,
}

/// Judges an assignment that had no event for its whole timeout by the digests of its scope, then and now.
pub fn progress(before: Option<&str>, now: &str) -> WorkerProgress {
    if before == Some(now) { WorkerProgress::None } else { WorkerProgress::Changed }
}
