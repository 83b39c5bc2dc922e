//! The messages of the execution contract, good and bad. Times of events are fixed, so that output can be compared.

use std::time::{SystemTime, UNIX_EPOCH};

use contract::domain::time::Timestamp;
use serde_json::{Value, json};

use crate::script::Step;

const AOP_VERSION: &str = "2.0.2-C";
const SCHEMA_VERSION: &str = "2.0.2";
const STARTED_AT: &str = "2026-01-01T12:00:00Z";

/// Noise as real agents print it: a banner, a bare value, a broken line, bytes that are not UTF-8.
pub(crate) const GARBAGE: &[u8] =
    b"Welcome to fake-agent!\n[1, 2, 3]\n\n{\"message_type\": \n\"EVENT\"\n\xff\xfe\n";

#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) cost_usd: Option<f64>,
    pub(crate) written: Vec<Written>,
}

/// A file the agent wrote, for the RESPONSE to name.
pub(crate) struct Written {
    pub(crate) path: String,
    pub(crate) is_new: bool,
    pub(crate) bytes: u64,
}

impl Messages {
    /// What the step prints; panics for a step that prints no message.
    pub(crate) fn text(&self, step: &Step, task: &Value) -> String {
        match step {
            Step::AopHeartbeat => line(&heartbeat(task)),
            Step::AopProgress(percent, message) => line(&progress(task, *percent, message)),
            Step::AopSuccess => line(&self.success(task)),
            Step::AopFailed(code) => line(&self.failed(task, code)),
            Step::AopPartial => {
                line(&self.response(task, "COMPLETED", "PARTIAL_SUCCESS", "some of it is done"))
            }
            Step::AopBadJson => {
                let whole = self.success(task).to_string();
                format!("{}\n", &whole[..whole.len() / 2])
            }
            Step::AopWrongTask => {
                let mut response = self.success(task);
                response["task_id"] = json!("TASK-OF-SOMEBODY-ELSE");
                line(&response)
            }
            Step::AopNoFinalSignal => {
                let mut response = self.success(task);
                response["task_status"] = json!({"state": "COMPLETED", "message": "done, more or less"});
                line(&response)
            }
            Step::AopTwoResponses => {
                format!("{}{}", line(&self.success(task)), line(&self.failed(task, "E_UNKNOWN")))
            }
            other => unreachable!("BUG: {other:?} is not a message"),
        }
    }

    fn success(&self, task: &Value) -> Value {
        self.response(task, "COMPLETED", "SUCCESS", "done as the script says")
    }

    fn failed(&self, task: &Value, code: &str) -> Value {
        let message = "failed as the script says";
        let mut response = self.response(task, "FAILED", "FAILURE", message);
        response["error_details"] = json!({"error_code": code, "message": message});
        response
    }

    fn response(&self, task: &Value, state: &str, signal: &str, message: &str) -> Value {
        let mut response = json!({
            "aop_version": AOP_VERSION,
            "schema_version": SCHEMA_VERSION,
            "protocol_family": "AOP",
            "message_type": "RESPONSE",
            "session_id": task["session"]["session_id"],
            "task_id": task["task"]["task_id"],
            "agent": {
                "name": task["target"]["agent_name"],
                "provider": task["target"]["provider"],
                "model": task["target"]["model"],
            },
            "task_status": {"state": state, "final_signal": signal, "message": message},
            "execution_summary": {
                "summary": message,
                "actions": ["did the steps of the script"],
                "output_artifacts": self.written.iter().map(artifact).collect::<Vec<_>>(),
            },
            "timing": {"started_at": now(), "completed_at": now(), "duration_seconds": 1},
        });
        if let Some(cost_usd) = self.cost_usd {
            response["cost_tracking"] =
                json!({"actual_cost_usd": cost_usd, "tokens_input": 100, "tokens_output": 10});
        }
        response
    }
}

/// A RESPONSE has the times of the work, and writ compares them with its own.
#[expect(clippy::disallowed_methods, reason = "the clock of another program")]
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)).to_string()
}

fn artifact(written: &Written) -> Value {
    let status = if written.is_new { "CREATED" } else { "UPDATED" };
    json!({"type": "FILE", "path": written.path, "status": status, "size_bytes": written.bytes})
}

fn heartbeat(task: &Value) -> Value {
    event(task, "HEARTBEAT")
}

fn progress(task: &Value, percent: u8, message: &str) -> Value {
    let mut event = event(task, "PROGRESS_UPDATE");
    event["progress"] = json!({"percentage": percent, "message": message});
    event
}

fn event(task: &Value, name: &str) -> Value {
    json!({
        "aop_version": AOP_VERSION,
        "schema_version": SCHEMA_VERSION,
        "protocol_family": "AOP",
        "message_type": "EVENT",
        "event": name,
        "session_id": task["session"]["session_id"],
        "task_id": task["task"]["task_id"],
        "timestamp": STARTED_AT,
        "agent": task["target"]["agent_name"],
    })
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}
