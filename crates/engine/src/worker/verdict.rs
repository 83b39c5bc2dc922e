//! What the end of a worker's command means for its task.

use contract::domain::time::human_duration;
use contract::json::Value;
use contract::operator::{Code, Outcome};

use super::WorkerSettings;
use super::turn::{EndedCommand, Hold};
use super::written::{self, Unfinished};
use crate::launcher::RunError;
use crate::supervisor::ProcessExit;

/// What the end of the command means.
pub(super) enum WorkVerdict {
    Finished,
    Unfinished(Unfinished),
    Lost,
}

pub(super) fn unfinished(
    worker: &WorkerSettings,
    left: &EndedCommand,
    own: Option<&Value>,
    problem: Option<String>,
) -> WorkVerdict {
    let text = |name: &str| own.and_then(|own| own[name].as_str()).filter(|text| !text.trim().is_empty());
    let said = text("status").and_then(Outcome::parse);
    let stop = |code: Code, reason: String, next_step: &str| {
        let code = text("x_code").and_then(Code::parse).filter(|code| *code != Code::Ok).unwrap_or(code);
        let next_step = text("x_next_step").unwrap_or(next_step).to_owned();
        let outcome = said.filter(|said| *said != Outcome::Done).unwrap_or(worker.bounds.on_failure);
        WorkVerdict::Unfinished(Unfinished { outcome, code: code.as_str().to_owned(), reason, next_step })
    };
    let fields = own.map(written::refused_fields).unwrap_or_default();
    if left.hold == Hold::Lost {
        return WorkVerdict::Lost;
    }
    match &left.end {
        Err(RunError::Stopped) => {
            stop(Code::TaskTimeout, "the worker was interrupted".to_owned(), "assign the task again")
        }
        Err(RunError::Timeout(_)) => {
            let after = human_duration(worker.bounds.timeout);
            stop(Code::TaskTimeout, format!("the command did not end within {after}"), "give it more time")
        }
        Err(error) => {
            let reason = format!("the command failed: {error}");
            stop(Code::MissingRequiredInput, reason, "repair the worker's command")
        }
        Ok(ProcessExit::Code(0)) => match (problem, said) {
            (Some(problem), _) => stop(Code::SchemaInvalid, problem, "correct what the command writes"),
            (None, _) if !fields.is_empty() => {
                let reason =
                    format!("WRIT_RESULT sets {}, which belong to the assignment", fields.join(", "));
                stop(Code::SchemaInvalid, reason, "correct what the command writes")
            }
            (None, Some(Outcome::Blocked | Outcome::Failed)) => {
                let notes = own.and_then(|own| own["notes_for_orchestrator"][0].as_str());
                let reason = notes.unwrap_or("the command reported that it could not finish");
                stop(
                    Code::MissingRequiredInput,
                    reason.to_owned(),
                    "read the worklog, then plan the task again",
                )
            }
            (None, Some(Outcome::Done) | None) => WorkVerdict::Finished,
        },
        Ok(ProcessExit::Code(code)) => {
            let reason = format!("the command exited with {code}");
            stop(Code::AcceptanceFailed, reason, "read the output, then plan the task again")
        }
        Ok(ProcessExit::Signal(signal)) => {
            let reason = format!("the command was killed by signal {signal}");
            stop(Code::AcceptanceFailed, reason, "read the output, then plan the task again")
        }
    }
}
