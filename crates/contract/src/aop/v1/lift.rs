//! Converts v1 to v2: a prompt to a TASK, and an executor's free text to a RESPONSE.

use crate::aop::response::{Agent, ErrorDetails, ExecutionSummary, Response, TaskStatus, Timing};
use crate::aop::task::{Category, Complexity, Provider, Session, Target, Task, Work};
use crate::domain::failure_code::FailureCode;
use crate::domain::report::{FinalSignal, ReportedState};
use crate::domain::time::Timestamp;
use crate::finding::Finding;

const SUMMARY_CHARS_MAX: usize = 500;
/// The model of an agent that names none. Who answers in free text claims nothing about itself.
pub const MODEL_UNNAMED: &str = "v1-compat";

/// A TASK whose objective is the whole prompt.
pub fn lift_task(
    prompt: &str,
    session: Session,
    target: Target,
    task_id: &str,
    workspace_root: &str,
) -> Task {
    let work = Work::new(task_id, prompt, Category::Other, Complexity::Medium, workspace_root);
    Task::new(session, target, work)
}

/// Who answered a v1 prompt, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Reply {
    pub session_id: String,
    pub task_id: String,
    pub agent_name: String,
    pub started_at: Timestamp,
    pub completed_at: Timestamp,
}

/// The outcome that a v1 text reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closeout {
    Success,
    Failure,
    /// The text does not say.
    Open,
    /// There is no text.
    Silent,
}

/// Reads the closing word of a free text. A text without one is a partial success, with a warning.
pub fn lift_response(text: &str, reply: &V1Reply) -> (Response, Vec<Finding>) {
    let closeout = closeout(text);
    let (state, signal, message) = match closeout {
        Closeout::Success => {
            (ReportedState::Completed, FinalSignal::Success, "the v1 executor reported success")
        }
        Closeout::Failure => {
            (ReportedState::Failed, FinalSignal::Failure, "the v1 executor reported failure")
        }
        Closeout::Open => (
            ReportedState::Completed,
            FinalSignal::PartialSuccess,
            "the v1 executor did not report success or failure",
        ),
        Closeout::Silent => (ReportedState::Failed, FinalSignal::Failure, "the v1 executor printed nothing"),
    };
    let agent = Agent {
        name: reply.agent_name.clone(),
        provider: Provider::Other,
        model: MODEL_UNNAMED.to_owned(),
        extensions: None,
    };
    let status =
        TaskStatus { state, final_signal: Some(signal), message: Some(message.to_owned()), extensions: None };
    let mut response = Response::new(reply.session_id.as_str(), reply.task_id.as_str(), agent, status);
    response.execution_summary = Some(ExecutionSummary {
        summary: Some(summary(text, message)),
        actions: vec!["ran the v1 prompt".to_owned(), "answered in free text".to_owned()],
        ..ExecutionSummary::default()
    });
    response.error_details = (state == ReportedState::Failed).then(|| ErrorDetails {
        error_code: error_code(closeout).as_str().to_owned(),
        message: message.to_owned(),
        stack_trace: None,
        recovery_suggestions: Vec::new(),
        extensions: None,
    });
    response.timing = Some(Timing {
        started_at: reply.started_at,
        completed_at: reply.completed_at,
        duration_seconds: reply.completed_at.since(reply.started_at).as_secs(),
        retries_attempted: None,
        extensions: None,
    });
    let open = (closeout == Closeout::Open).then(|| Finding {
        path: "$".to_owned(),
        rule: "closeout",
        message: "the text does not end with SUCCESS or FAIL and counts as a partial success".to_owned(),
    });
    (response, open.into_iter().collect())
}

fn error_code(closeout: Closeout) -> FailureCode {
    if closeout == Closeout::Silent { FailureCode::MalformedResponse } else { FailureCode::Unknown }
}

fn summary(text: &str, fallback: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return fallback.to_owned();
    }
    let short: String = text.chars().take(SUMMARY_CHARS_MAX).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

/// The last line that is a closing word decides: earlier ones may quote the instructions.
fn closeout(text: &str) -> Closeout {
    if text.trim().is_empty() {
        return Closeout::Silent;
    }
    match text.lines().rev().find_map(closing_word) {
        Some(closeout) => closeout,
        None if text.contains("error.json") => Closeout::Failure,
        None => Closeout::Open,
    }
}

fn closing_word(line: &str) -> Option<Closeout> {
    let bare: String = line.chars().filter(|c| !"*#`_".contains(*c)).collect();
    let bare = bare.trim().trim_start_matches(['-', '>']).trim();
    let (is_status, rest) = match bare.split_once(':') {
        Some((name, rest)) if name.trim().eq_ignore_ascii_case("status") => (true, rest.trim()),
        _ => (false, bare),
    };
    // Without `STATUS:` the word must be alone or followed by a colon; otherwise any sentence could match.
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (word, tail) = rest.split_at(end);
    if !is_status && !tail.trim_end_matches(['.', '!']).is_empty() && !tail.starts_with(':') {
        return None;
    }
    match word.to_ascii_uppercase().as_str() {
        "SUCCESS" | "SUCCEEDED" | "YES" => Some(Closeout::Success),
        "FAIL" | "FAILED" | "FAILURE" => Some(Closeout::Failure),
        _ => None,
    }
}
