//! A program that answers an AOP TASK: EVENT lines while it works, one RESPONSE at the end.

use std::time::Duration;

use contract::aop::event::Body;
use contract::aop::response::{FinalSignal, Response, State};
use contract::aop::task::Task;
use contract::aop::{self, Line};
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::json::{Map, Value};

use super::shell::{failure, own_failure};
use super::{Ended, Reported};
use crate::hidden::Hidden;
use crate::pipeline::l7_delegate::Claim;

/// Where a RESPONSE that failed says how long a repetition has to wait: `error_details.extensions`.
const RETRY_AFTER_EXTENSION: &str = "x_retry_after_ms";

/// Reads the child's standard output line by line.
pub(crate) struct Conversation {
    task: Box<Task>,
    hidden: Hidden,
    line: Vec<u8>,
    /// The line is too long to be a message; the rest of it is skipped.
    oversize: bool,
    response: Option<Box<Response>>,
    fault: Option<String>,
    /// The first line that looks like a message and is none. It counts only if no RESPONSE comes.
    noise: Option<String>,
}

/// A sign of life, with words where there are some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) percentage: Option<u64>,
    pub(crate) message: String,
}

impl Conversation {
    pub(crate) fn new(task: Box<Task>, hidden: Hidden) -> Self {
        Self { task, hidden, line: Vec::new(), oversize: false, response: None, fault: None, noise: None }
    }

    /// Takes output as it comes and gives back the signs of life in it.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Progress> {
        let mut signs = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !self.oversize {
                self.line.extend_from_slice(piece);
            }
            if self.line.len() > limits::LINE_BYTES_MAX {
                self.line.clear();
                self.oversize = true;
            }
            if piece.ends_with(b"\n") {
                signs.extend(self.finish_line());
            }
        }
        signs
    }

    fn finish_line(&mut self) -> Option<Progress> {
        if std::mem::take(&mut self.oversize) {
            self.fault("E_MALFORMED_RESPONSE: a line is longer than the limit");
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        // Programs print banners and warnings; only objects can be messages.
        if !line.starts_with(b"{") {
            return None;
        }
        match aop::parse_line(line, self.task.guard_rails.as_ref()) {
            Ok(Line::Event(event)) => match event.body {
                Body::Heartbeat(beat) => Some(Progress {
                    percentage: beat.progress_percentage,
                    message: harmless(&self.hidden, &beat.current_phase.unwrap_or_default()),
                }),
                Body::ProgressUpdate(update) => Some(Progress {
                    percentage: Some(update.progress.percentage),
                    message: harmless(&self.hidden, &update.progress.message),
                }),
                _ => None,
            },
            Ok(Line::Response(response)) => {
                self.take(response);
                None
            }
            Err(verdict) => {
                let words = format!("{}: {}", verdict.code, verdict.reason);
                if is_message(line) {
                    self.fault(&words);
                } else {
                    self.noise.get_or_insert(words);
                }
                None
            }
        }
    }

    fn take(&mut self, response: Response) {
        let wrong = if response.task_id != self.task.task.task_id {
            Some("answers another task")
        } else if response.session_id != self.task.session.session_id {
            Some("answers another session")
        } else if self.response.is_some() {
            Some("is a second RESPONSE")
        } else {
            None
        };
        match wrong {
            Some(wrong) => self.fault(&format!("E_MALFORMED_RESPONSE: the RESPONSE {wrong}")),
            None => self.response = Some(Box::new(response)),
        }
    }

    fn fault(&mut self, message: &str) {
        self.fault.get_or_insert_with(|| message.to_owned());
    }

    /// What the conversation came to. The RESPONSE decides, not the exit code; without one there is no success.
    pub(crate) fn claim(&mut self, ended: &Ended, timeout: Duration) -> Claim {
        if !self.line.is_empty() {
            self.finish_line();
        }
        if let Some(own) = own_failure(ended, timeout) {
            return own;
        }
        let noise = self.noise.as_ref().filter(|_| self.response.is_none());
        if let Some(fault) = self.fault.as_ref().or(noise) {
            let (code, message) = fault.split_once(": ").unwrap_or(("E_MALFORMED_RESPONSE", fault));
            return failure(code, harmless(&self.hidden, message));
        }
        let Some(response) = &self.response else {
            return match ended.exit_code {
                Some(0) => failure("E_MALFORMED_RESPONSE", "ended without a RESPONSE".to_owned()),
                _ => failure("E_PROCESS_CRASH", "ended without a RESPONSE and with a failure".to_owned()),
            };
        };
        let status = &response.task_status;
        let signal = status.final_signal;
        if status.state == State::Completed && matches!(signal, Some(FinalSignal::Success) | None) {
            return Claim::Success;
        }
        let code = response.error_details.as_ref().map_or("E_UNKNOWN", |details| details.error_code.as_str());
        let words = signal.map_or(status.state.as_str(), FinalSignal::as_str);
        let said = status.message.clone().unwrap_or_default();
        failure(code, harmless(&self.hidden, format!("{words} {said}").trim_end()))
    }

    pub(crate) fn reported(&self) -> Reported {
        let Some(response) = &self.response else { return Reported::default() };
        let tracking = response.cost_tracking.as_ref();
        let tokens = tracking.and_then(|t| match (t.tokens_input, t.tokens_output) {
            (None, None) => None,
            (input, output) => i64::try_from(input.unwrap_or(0).saturating_add(output.unwrap_or(0))).ok(),
        });
        Reported {
            cost: tracking
                .and_then(|t| t.actual_cost_usd.or(t.estimated_cost_usd))
                .and_then(MicroUsd::from_dollars),
            tokens,
            summary: response
                .execution_summary
                .as_ref()
                .and_then(|summary| summary.summary.as_deref())
                .map(|summary| self.hidden.clean(summary).into_owned()),
            retry_after_ms: response
                .error_details
                .as_ref()
                .and_then(|details| details.extensions.as_ref())
                .and_then(|extensions| extensions.get(RETRY_AFTER_EXTENSION))
                .and_then(Value::as_u64),
        }
    }
}

/// An agent's words on one line, without secrets and without what would steer a terminal.
fn harmless(hidden: &Hidden, text: &str) -> String {
    hidden.clean(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Whether a line means to be one of the protocol's messages. Programs also print logs of their own as objects.
fn is_message(line: &[u8]) -> bool {
    let object: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
    object.is_some_and(|fields| fields.contains_key("aop_version") || fields.contains_key("message_type"))
}
