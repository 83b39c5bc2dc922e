//! An answer in plain text. The exit code decides, with the words in which v1 executors close; in a conversation of AOP v1 the
//! closing word is expected.

use contract::aop::event::Body;
use contract::aop::response::{ErrorDetails, Response};
use contract::aop::v1::{V1Reply, lift_response};
use contract::domain::attempt::Limited;
use contract::domain::limits::LOG_TAIL_BYTES_MAX;
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::time::Timestamp;
use contract::plan::executor::Pattern;
use contract::secrets::Hidden;

use super::configured::Configured;
use super::error_tail::{ErrorTail, last_line};
use super::trouble::Trouble;
use super::{AttemptWork, ChildEnd, OutputLine, Reader, Returned, failure, prompt};
use crate::pipeline::l7_delegate::ExecutorClaim;

pub(super) struct TextAnswer {
    text: Vec<u8>,
    errors: ErrorTail,
    hidden: Hidden,
    success: Option<Pattern>,
    is_model_free: bool,
    /// Whether a text without a closing word is only a part of the work, as AOP v1 has it.
    is_v1: bool,
    executor: String,
    session_id: String,
    task_id: String,
    started_at: Timestamp,
}

impl TextAnswer {
    pub(super) fn new(work: &AttemptWork<'_>, own: &Configured) -> Self {
        let submitted = prompt::submitted(work);
        let ids = submitted.map(|task| (task.session.session_id, task.task.task_id));
        let (session_id, task_id) =
            ids.unwrap_or_else(|| (work.run.id.to_string(), work.task.id.to_string()));
        Self {
            text: Vec::new(),
            errors: ErrorTail::default(),
            hidden: work.hidden.clone(),
            success: own.success.clone(),
            is_model_free: own.is_model_free,
            is_v1: own.is_v1_only,
            executor: own.name.as_str().to_owned(),
            session_id,
            task_id,
            started_at: work.now,
        }
    }
}

impl Reader for TextAnswer {
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body> {
        if let OutputLine::Whole(line) = line {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
            // Its end is what counts.
            let more = self.text.len().saturating_sub(LOG_TAIL_BYTES_MAX);
            self.text.drain(..more);
        }
        Vec::new()
    }

    fn error_output(&mut self, bytes: &[u8]) {
        self.errors.push(bytes);
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        let text = String::from_utf8_lossy(&self.text).into_owned();
        let reply = V1Reply {
            session_id: self.session_id.clone(),
            task_id: self.task_id.clone(),
            agent_name: self.executor.clone(),
            started_at: self.started_at,
            completed_at: self.started_at,
        };
        let (mut response, doubts) = lift_response(&text, &reply);
        response.timing = None;
        let (claim, limited) = match ended.exit_code {
            Some(0) => (self.closed(&text, &response), None),
            Some(_) | None => self.failed(ended, &text),
        };
        let signal = match (&self.success, response.task_status.final_signal) {
            (None, Some(FinalSignal::PartialSuccess)) if self.is_v1 => FinalSignal::PartialSuccess,
            _ => FinalSignal::Success,
        };
        let status = &mut response.task_status;
        match &claim {
            ExecutorClaim::Success => {
                (status.state, status.final_signal) = (ReportedState::Completed, Some(signal));
                response.error_details = None;
                if let (FinalSignal::PartialSuccess, Some(summary)) =
                    (signal, &mut response.execution_summary)
                {
                    summary.warnings.extend(doubts.into_iter().map(|doubt| doubt.message));
                }
            }
            ExecutorClaim::Failure { code, message } => {
                (status.state, status.final_signal) = (ReportedState::Failed, Some(FinalSignal::Failure));
                response.error_details = Some(ErrorDetails {
                    error_code: code.to_string(),
                    message: message.clone(),
                    stack_trace: None,
                    recovery_suggestions: Vec::new(),
                    extensions: None,
                });
            }
        }
        response.task_status.message = None;
        Returned { limited, ..Returned::response(claim, response, &self.hidden) }
    }
}

impl TextAnswer {
    /// What a program claims that ended well, by its closing word and the pattern that is configured.
    fn closed(&self, text: &str, lifted: &Response) -> ExecutorClaim {
        let is_silent = text.trim().is_empty();
        if lifted.task_status.state == ReportedState::Failed && !is_silent {
            return failure("E_UNKNOWN", "it reported failure");
        }
        match &self.success {
            Some(pattern) if !pattern.is_match(text) => {
                failure("E_UNKNOWN", format!("its output does not match `{pattern}`"))
            }
            None if is_silent && self.is_v1 => failure("E_MALFORMED_RESPONSE", "it printed nothing"),
            Some(_) | None => ExecutorClaim::Success,
        }
    }

    /// Why the program failed: the provider's refusal if it printed one, else how it ended.
    fn failed(&self, ended: &ChildEnd, text: &str) -> (ExecutorClaim, Option<Limited>) {
        let how = ended.how();
        let printed = self.errors.last_line();
        let said = printed.clone().or_else(|| last_line(text)).filter(|_| !self.is_model_free);
        let trouble = said.map(Trouble::printed).filter(Trouble::is_surely_of_the_model);
        let Some(trouble) = trouble else {
            let words = printed.map_or_else(|| how.clone(), |line| format!("{how}: {line}"));
            return (failure("E_PROCESS_CRASH", self.hidden.one_line(&words)), None);
        };
        let (code, message) = trouble.told();
        let message = self.hidden.one_line(&message);
        let now = ended.at.unwrap_or(self.started_at);
        let limited = trouble.limited(&self.executor, message.clone(), now);
        (failure(code.as_str(), message), limited)
    }
}
