//! Shows what an attempt of a task printed.

use contract::domain::attempt::{Attempt, AttemptId};
use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::code::ErrorCode;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::text::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::host::{LogPiece, Transcript};
use crate::verb::{Function, Surface, Verb};

pub struct Logs;

impl Verb for Logs {
    const NAME: &'static str = "run.logs";
    const COMMAND: &'static str = "logs";
    const SUMMARY: &'static str = "Show what an attempt of a task printed";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(logs);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task: its id, a unique prefix of it, its id in a plan, or its `T-n`.
    pub task: String,
    /// Which attempt, counted from 1; the last where it is absent.
    #[serde(default)]
    pub attempt: Option<i64>,
    /// Only what was printed there.
    #[serde(default)]
    pub stream: Option<OutputStream>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task_id: TaskId,
    pub attempt_id: AttemptId,
    pub attempt: i64,
    /// In the order in which it was printed.
    pub output: Vec<OutputPiece>,
    /// The check that failed afterwards, with the end of its own output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<CheckSeen>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OutputPiece {
    Printed {
        stream: OutputStream,
        /// What is not UTF-8 is replaced.
        text: String,
    },
    Dropped {
        /// How many bytes were not kept here.
        dropped_bytes: u64,
    },
}

/// Shows what the last attempt of each task of a run printed. It shares its command with [`Logs`]: the name decides.
pub struct LogsOfRun;

impl Verb for LogsOfRun {
    const NAME: &'static str = "run.logs_of_run";
    const COMMAND: &'static str = "logs";
    const SUMMARY: &'static str = "Show what the last attempt of each task of a run printed";
    const SURFACE: Surface = Surface::Writ;
    type Request = RunRequest;
    type Answer = RunAnswer;
    const FUNCTION: Function<Self> = Function::Reads(logs_of_run);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The run's id, a unique prefix of it, its correlation id, or `@last` for the newest.
    pub run: String,
    /// Only what was printed there.
    #[serde(default)]
    pub stream: Option<OutputStream>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunAnswer {
    pub run_id: RunId,
    /// In the order of the plan, without tasks that were never started.
    pub tasks: Vec<TaskOutput>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOutput {
    /// Its id in the plan.
    pub name: Option<String>,
    #[serde(flatten)]
    pub logs: Answer,
}

fn logs_of_run(cx: &mut Context, session: &Session, request: &RunRequest) -> Result<RunAnswer> {
    let whole = super::show::show(cx, session, &request.run)?;
    let mut tasks = Vec::new();
    for (task, attempts) in whole.tasks {
        if attempts.is_empty() && cx.host().transcripts(&task.id)?.is_empty() {
            continue;
        }
        let of_task = Request { task: task.id.to_string(), attempt: None, stream: request.stream };
        let name = task.part.map(|part| part.spec.id);
        tasks.push(TaskOutput { name, logs: logs(cx, session, &of_task)? });
    }
    Ok(RunAnswer { run_id: whole.run.asked.id, tasks })
}

pub fn logs(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let log = read(cx, session, request)?;
    let shown = |piece: LogPiece| match piece {
        LogPiece::Printed(stream, bytes) => {
            OutputPiece::Printed { stream, text: String::from_utf8_lossy(&bytes).into_owned() }
        }
        LogPiece::Dropped(dropped_bytes) => OutputPiece::Dropped { dropped_bytes },
    };
    Ok(Answer {
        failed_check: log.failed_check,
        task_id: log.task_id,
        attempt_id: log.attempt_id,
        attempt: log.number,
        output: log.pieces.into_iter().map(shown).collect(),
    })
}

/// The output of one attempt as it was printed, for a door that prints bytes.
pub struct AttemptLog {
    pub task_id: TaskId,
    pub attempt_id: AttemptId,
    pub number: i64,
    /// The check that failed after the attempt.
    pub failed_check: Option<CheckSeen>,
    pub pieces: Vec<LogPiece>,
    file: String,
}

impl AttemptLog {
    fn of_run(attempt: Attempt) -> Self {
        let Attempt { begun, outcome, .. } = attempt;
        let failed_check = outcome.and_then(|outcome| first_failed(&outcome.checks).cloned());
        let file = format!("{}.log", begun.id);
        let (task_id, attempt_id) = (begun.task_id, begun.id);
        Self { task_id, attempt_id, number: begun.number, failed_check, pieces: Vec::new(), file }
    }

    /// Attempts of a loop or a worker are counted after those of runs.
    fn outside_runs(task_id: &TaskId, transcript: Transcript, of_runs: i64) -> Self {
        let Transcript { attempt: attempt_id, number, file } = transcript;
        let (task_id, number) = (task_id.clone(), of_runs + number);
        Self { task_id, attempt_id, number, failed_check: None, pieces: Vec::new(), file }
    }
}

pub fn read(cx: &mut Context, session: &Session, request: &Request) -> Result<AttemptLog> {
    let task = crate::task::get::get(cx, session, &request.task)?;
    let of_runs = crate::task::get::attempts(cx, &task.id)?;
    let count = i64::try_from(of_runs.len()).unwrap_or(i64::MAX);
    let outside = cx.host().transcripts(&task.id)?;
    let outside = outside.into_iter().map(|one| AttemptLog::outside_runs(&task.id, one, count));
    let mut logs: Vec<AttemptLog> = of_runs.into_iter().map(AttemptLog::of_run).chain(outside).collect();
    let attempts = logs.len();
    let found = match request.attempt {
        Some(number) => logs.into_iter().find(|log| log.number == number),
        None => logs.pop(),
    };
    let mut log = found.ok_or_else(|| {
        Error::new(ErrorCode::NotFound, "the task has no such attempt")
            .hint(format!("it has {}", counted(attempts, "attempt")))
    })?;
    log.pieces = cx.host().read_log(&log.file)?;
    log.pieces.retain(|piece| match (piece, request.stream) {
        (LogPiece::Printed(stream, _), Some(wanted)) => *stream == wanted,
        (LogPiece::Printed(..), None) | (LogPiece::Dropped(_), _) => true,
    });
    Ok(log)
}
