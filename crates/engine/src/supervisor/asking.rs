//! Asks a program one question: it reads until the end of its input, answers on standard output, and ends.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{LaunchSpec, Report, ShimProgram, StartError, Supervisor};

/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("could not be started: {0}")]
    Fault(String),
    #[error("did not answer within {0:?}")]
    TooLate(Duration),
    #[error("answered with more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("its supervisor was lost: {0}")]
    Lost(String),
}

/// Starts the program and gives what it printed. Its exit code says nothing about whether it answered.
pub fn ask(shim: &ShimProgram, spec: LaunchSpec, patience: Duration) -> Result<Vec<u8>, AskError> {
    let (sender, reports) = mpsc::channel();
    let sink = move |report| {
        // The receiver waits for the last report; it can only be gone if this process is ending.
        sender.send(report).ok();
    };
    let handle = Supervisor::start(shim, spec, sink)?;
    let deadline = Instant::now() + patience;
    let mut answer = Vec::new();
    let mut failed = None;
    loop {
        let left =
            if failed.is_some() { patience } else { deadline.saturating_duration_since(Instant::now()) };
        match reports.recv_timeout(left) {
            Ok(Report::Stdout(bytes)) if failed.is_none() => {
                answer.extend_from_slice(&bytes);
                if answer.len() > ANSWER_BYTES_MAX {
                    failed = Some(AskError::TooLong);
                    handle.kill();
                }
            }
            Ok(Report::Fault(fault)) => {
                failed.get_or_insert(AskError::Fault(fault.message));
                break;
            }
            Ok(Report::Lost(lost)) => {
                failed.get_or_insert(AskError::Lost(lost.message));
                break;
            }
            Ok(Report::Gone(_)) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(Report::Started { .. } | Report::Stdout(_) | Report::Stderr(_) | Report::Exited(_)) => {}
            Err(RecvTimeoutError::Timeout) => {
                failed.get_or_insert(AskError::TooLate(patience));
                handle.kill();
            }
        }
    }
    handle.join();
    failed.map_or(Ok(answer), Err)
}
