//! Asks a program one question: it reads until the end of its input, answers on standard output, and ends.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Exit, LaunchSpec, Report, ShimProgram, StartError, Supervisor};

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

/// What a program printed, and how it ended. Whether a failed one has answered is for the asker to say.
#[derive(Debug)]
pub struct Answered {
    pub printed: Vec<u8>,
    pub exit: Option<Exit>,
}

/// Starts the program and waits for its end.
pub fn ask(shim: &ShimProgram, spec: LaunchSpec, patience: Duration) -> Result<Answered, AskError> {
    let (sender, reports) = mpsc::channel();
    let sink = move |report| {
        // The receiver waits for the last report; it can only be gone if this process is ending.
        sender.send(report).ok();
    };
    let handle = Supervisor::start(shim, spec, sink)?;
    let deadline = Instant::now() + patience;
    let mut answered = Answered { printed: Vec::new(), exit: None };
    let mut failed = None;
    loop {
        let left =
            if failed.is_some() { patience } else { deadline.saturating_duration_since(Instant::now()) };
        match reports.recv_timeout(left) {
            Ok(Report::Stdout(bytes)) if failed.is_none() => {
                answered.printed.extend_from_slice(&bytes);
                if answered.printed.len() > ANSWER_BYTES_MAX {
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
            Ok(Report::Exited(exit)) => answered.exit = Some(exit),
            Ok(Report::Started { .. } | Report::Stdout(_) | Report::Stderr(_)) => {}
            Err(RecvTimeoutError::Timeout) => {
                failed.get_or_insert(AskError::TooLate(patience));
                handle.kill();
            }
        }
    }
    handle.join();
    failed.map_or(Ok(answered), Err)
}
