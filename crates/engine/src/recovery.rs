//! What was running when the last engine stopped? Verified by artifacts, else run again if that is safe, else parked.

use contract::aee::Type;
use contract::domain::attempt::{Attempt, AttemptState, Outcome};
use contract::domain::check::CheckSeen;
use contract::domain::status::Status;
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use crate::dispatcher::Dispatcher;
use crate::observer::Told;
use crate::verify;

/// What becomes of an interrupted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Its checks pass: it had finished.
    Verified,
    Rerun,
    /// Nobody can tell what it did. A person decides.
    Parked,
}

impl Decision {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Decision::Verified => "verified",
            Decision::Rerun => "rerun",
            Decision::Parked => "parked",
        }
    }
}

/// Pure: `checks` is empty where the task has none, and otherwise what was seen.
pub(crate) fn decide(expected: usize, checks: &[CheckSeen], may_rerun: bool) -> Decision {
    let verified = expected > 0 && checks.len() == expected && checks.iter().all(|check| check.passed);
    match (verified, may_rerun) {
        (true, _) => Decision::Verified,
        (false, true) => Decision::Rerun,
        (false, false) => Decision::Parked,
    }
}

/// Brings every interrupted task of the run into a state from which the scheduler can go on.
pub(crate) fn recover(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    for task in 0..dispatcher.tasks.len() {
        let Some(last) = dispatcher.attempts[task].last().cloned() else { continue };
        let interrupted = match last.state {
            AttemptState::Started => true,
            AttemptState::Interrupted => dispatcher.tasks[task].status == Status::Blocked,
            AttemptState::Unknown => {
                dispatcher.tasks[task].status == Status::Blocked && dispatcher.settings.rerun_parked
            }
            AttemptState::Succeeded | AttemptState::Failed => false,
        };
        if interrupted {
            recover_one(dispatcher, task, &last)?;
        }
    }
    Ok(())
}

fn recover_one(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<()> {
    let spec = dispatcher.part(task).spec.clone();
    let status = dispatcher.tasks[task].status;
    // A task that was canceled meanwhile only needs its attempt closed.
    let still_wanted = matches!(status, Status::InProgress | Status::Blocked);
    let checks = if still_wanted {
        verify::run_all(&spec.checks, &dispatcher.place(), &last.begun.id)
    } else {
        Vec::new()
    };
    let may_rerun = spec.retry_safe || dispatcher.settings.rerun_parked;
    let decision = decide(spec.checks.len(), &checks, may_rerun);
    let reason = match decision {
        Decision::Verified => "its checks pass, so it had finished",
        Decision::Rerun => "it was interrupted and may be run again",
        Decision::Parked => {
            "it was interrupted, its checks do not pass, and the plan does not say it may run again"
        }
    };
    if last.state == AttemptState::Started {
        dispatcher.note(Entry::EndAttempt {
            task_id: last.begun.task_id.clone(),
            attempt_id: last.begun.id.clone(),
            state: match decision {
                Decision::Verified => AttemptState::Succeeded,
                Decision::Rerun => AttemptState::Interrupted,
                Decision::Parked => AttemptState::Unknown,
            },
            outcome: Box::new(Outcome { message: reason.to_owned(), checks, ..Outcome::default() }),
        });
    }
    if still_wanted {
        note_moves(dispatcher, task, status, decision, reason);
        dispatcher.note(Entry::Envelope(Note {
            kind: Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: "writ.recovery".to_owned(),
            message: format!("{}: {}", decision.as_str(), reason),
            payload: json!({"decision": decision.as_str(), "reason": reason, "attempt": last.begun.number}),
            task_id: Some(last.begun.task_id.clone()),
        }));
    }
    dispatcher.commit()?;
    dispatcher.refresh(task)?;
    let id = dispatcher.tasks[task].id.clone();
    dispatcher.attempts[task] = ops::task::get::attempts(dispatcher.cx, &id)?;
    let told = Told::Recovered { task: &spec.id, decision: decision.as_str() };
    dispatcher.observer.tell(told);
    Ok(())
}

/// The legal path to each decision's state.
fn note_moves(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    status: Status,
    decision: Decision,
    reason: &str,
) {
    let path: &[Status] = match (decision, status) {
        (Decision::Verified, Status::Blocked) => &[Status::InProgress, Status::Done],
        (Decision::Verified, _) => &[Status::Done],
        (Decision::Rerun, Status::Blocked) => &[Status::Todo],
        (Decision::Rerun, _) => &[Status::Blocked, Status::Todo],
        (Decision::Parked, _) => &[Status::Blocked],
    };
    for &to in path {
        let task_id = dispatcher.tasks[task].id.clone();
        let verified = to == Status::Done;
        dispatcher.note(Entry::MoveTask {
            task_id,
            to,
            reason: Some(format!("unknown: {reason}")),
            verified,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::domain::check::Expects;

    fn seen(passed: bool) -> CheckSeen {
        CheckSeen {
            command: vec!["c".to_owned()],
            expects: Expects::ExitCode0,
            passed,
            exit_code: Some(i32::from(!passed)),
            output_digest: String::new(),
            output_tail: String::new(),
            problem: None,
        }
    }

    #[test]
    fn artifacts_first_then_safety_then_a_person() {
        assert_eq!(decide(1, &[seen(true)], false), Decision::Verified);
        assert_eq!(decide(2, &[seen(true)], true), Decision::Rerun);
        assert_eq!(decide(1, &[seen(false)], false), Decision::Parked);
        // Nothing to check proves nothing.
        assert_eq!(decide(0, &[], false), Decision::Parked);
        assert_eq!(decide(0, &[], true), Decision::Rerun);
    }
}
