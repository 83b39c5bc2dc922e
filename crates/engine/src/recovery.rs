//! What was running when the last engine stopped? Verified by artifacts, else run again if that is safe, else parked.

use std::path::PathBuf;

use contract::aee::Type;
use contract::domain::attempt::{Attempt, AttemptState, Outcome};
use contract::domain::check::{Check, CheckSeen};
use contract::domain::status::Status;
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use crate::dispatcher::Dispatcher;
use crate::observer::Told;
use crate::verify::{self, Place};

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

/// Brings every interrupted task of the run into a state from which the scheduler can go on. Leaves the rest as it
/// is when somebody asks to stop.
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
        // Whoever moves the task meanwhile is right, and what was found out is looked at again in that light.
        while interrupted && !recover_one(dispatcher, task, &last)? {
            dispatcher.refresh(task)?;
            if dispatcher.is_stopping() && is_wanted(dispatcher, task) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A task that was canceled, alone or with its run, only needs its attempt closed.
fn is_wanted(dispatcher: &Dispatcher<'_>, task: usize) -> bool {
    !dispatcher.is_canceled() && matches!(dispatcher.tasks[task].status, Status::InProgress | Status::Blocked)
}

/// Decides and writes it down. False if nothing was written, because somebody asked to stop or moved the task.
fn recover_one(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    if !is_wanted(dispatcher, task) {
        return close(dispatcher, task, last);
    }
    let spec = dispatcher.part(task).spec.clone();
    let Some(checks) = look(dispatcher, &spec.checks, last)? else { return Ok(false) };
    let may_rerun = spec.retry_safe || dispatcher.settings.rerun_parked;
    let decision = decide(spec.checks.len(), &checks, may_rerun);
    let reason = match decision {
        Decision::Verified => "its checks pass, so it had finished",
        Decision::Rerun => "it was interrupted and may be run again",
        Decision::Parked => {
            "it was interrupted, its checks do not pass, and the plan does not say it may run again"
        }
    };
    let mark = dispatcher.pipeline.mark();
    let state = match decision {
        Decision::Verified => AttemptState::Succeeded,
        Decision::Rerun => AttemptState::Interrupted,
        Decision::Parked => AttemptState::Unknown,
    };
    note_end(dispatcher, last, state, reason, checks);
    note_moves(dispatcher, task, decision, reason);
    dispatcher.note(Entry::Envelope(Note {
        kind: Type::Event,
        from: None,
        to: "log.writ".to_owned(),
        intent: "writ.recovery".to_owned(),
        message: format!("{}: {}", decision.as_str(), reason),
        payload: json!({"decision": decision.as_str(), "reason": reason, "attempt": last.begun.number}),
        task_id: Some(last.begun.task_id.clone()),
    }));
    if !dispatcher.commit_unless_moved(mark)? {
        return Ok(false);
    }
    dispatcher.reload(task)?;
    dispatcher.observer.tell(Told::Recovered { task: &spec.id, decision: decision.as_str() });
    Ok(true)
}

/// What the task's checks show now. Nothing when somebody asks to stop before they have ended.
fn look(dispatcher: &mut Dispatcher<'_>, checks: &[Check], last: &Attempt) -> Result<Option<Vec<CheckSeen>>> {
    let settings = dispatcher.settings;
    let workspace = PathBuf::from(&dispatcher.run.asked.workspace);
    let place = Place { shim: &settings.shim, workspace: &workspace, environment: &settings.environment };
    let mut heard = Ok(());
    let seen = verify::run_all_while(checks, &place, &last.begun.id, &mut || {
        if heard.is_ok() {
            dispatcher.observer.tick();
            heard = dispatcher.heed_requests().map(drop);
        }
        heard.is_ok() && !dispatcher.is_stopping()
    });
    heard.map(|()| seen)
}

fn close(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    note_end(dispatcher, last, AttemptState::Interrupted, "canceled after its engine had ended", Vec::new());
    dispatcher.commit()?;
    dispatcher.reload(task)?;
    Ok(true)
}

fn note_end(
    dispatcher: &mut Dispatcher<'_>,
    last: &Attempt,
    state: AttemptState,
    reason: &str,
    checks: Vec<CheckSeen>,
) {
    if last.state == AttemptState::Started {
        dispatcher.note(Entry::EndAttempt {
            task_id: last.begun.task_id.clone(),
            attempt_id: last.begun.id.clone(),
            state,
            outcome: Box::new(Outcome { message: reason.to_owned(), checks, ..Outcome::default() }),
        });
    }
}

/// The legal path to each decision's state.
fn note_moves(dispatcher: &mut Dispatcher<'_>, task: usize, decision: Decision, reason: &str) {
    let path: &[Status] = match (decision, dispatcher.tasks[task].status) {
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
