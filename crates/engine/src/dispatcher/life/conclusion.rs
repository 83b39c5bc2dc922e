//! The end of an attempt: its outcome as it is recorded, and what follows it.

use std::collections::BTreeMap;

use contract::aop::Code;
use contract::domain::attempt::{Attempt, AttemptState, Outcome};
use contract::domain::crew::budget::Delegated;
use contract::domain::report::{CheckpointSeen, FinalSignal};
use contract::domain::status::Status;
use contract::plan::choice::{Choice, GivenUp, standing};
use ops::run::journal::Entry;

use crate::dispatcher::live::{AttemptReturn, Live};
use crate::dispatcher::rollback::Rolled;
use crate::dispatcher::task_work::TaskWork;
use crate::executor::Stopped;
use crate::pipeline::l8_verify::Verdict;

/// What follows an attempt that has failed. `None` for one that has not.
pub(super) fn choice_after(
    work: &TaskWork,
    live: &Live,
    verdict: &Verdict,
    outcome: &Outcome,
    delegated: Delegated,
) -> Option<Choice> {
    if !matches!(verdict, Verdict::Failed { .. }) {
        return None;
    }
    let mut attempts = work.attempts.clone();
    attempts.retain(|attempt| attempt.begun.id != live.start.attempt.id);
    attempts.push(Attempt {
        begun: live.start.attempt.clone(),
        state: AttemptState::Failed,
        started_at: live.start.started_at,
        ended_at: None,
        outcome: Some(outcome.clone()),
        rollback: None,
    });
    let spec = work.spec();
    standing(spec, &attempts).with_delegated(spec.budget, delegated).choice
}

/// How an attempt ended, and what was observed.
pub(super) fn outcome_of(live: &Live, state: AttemptState, conclusion: Conclusion, now_ms: i64) -> Outcome {
    let returned = live.phase.returned();
    let (stdout_digest, stderr_digest) = returned.digests.clone().unzip();
    let Conclusion { code, rule, message, signal, checkpoints } = conclusion;
    let mut report = returned.claims.report.clone();
    if let (Some(report), AttemptState::Failed) = (&mut report, state) {
        report.overturn(&message);
    }
    Outcome {
        exit_code: returned.ended.exit_code,
        signal: returned.ended.signal,
        code,
        rule,
        message,
        stdout_digest,
        stderr_digest,
        checks: returned.seen.clone(),
        cost: returned.reported.cost,
        tokens: returned.reported.tokens,
        cost_basis: returned.cost_basis.clone(),
        leftovers_killed: returned.ended.leftovers_killed,
        confinement: confinement_of(live, returned),
        network: returned.ended.network.clone(),
        agent_session: returned.agent_session.clone(),
        session_total: returned.session_total.clone(),
        limited: returned.limited.clone(),
        silences: returned.silences,
        late_ms: live.late_ms(now_ms),
        retry_after_ms: returned.reported.retry_after_ms,
        took_over: live.start.took_over.clone(),
        outside: returned.outside.clone().filter(|outside| !outside.is_empty()),
        snapshot: live.start.snapshot.clone(),
        final_signal: signal,
        report,
        checkpoints,
        recovery: None,
        warnings: returned.claims.warnings.clone(),
    }
}

/// What was in force, and what the plan asks for and did not get.
fn confinement_of(live: &Live, returned: &AttemptReturn) -> BTreeMap<String, String> {
    let Some(in_force) = &returned.ended.in_force else { return BTreeMap::new() };
    let mut words = in_force.words();
    words.extend(live.start.overruled.clone());
    words
}

/// How an attempt ended, as it is recorded.
pub(super) struct Conclusion {
    code: Option<String>,
    rule: Option<String>,
    message: String,
    signal: Option<FinalSignal>,
    checkpoints: Vec<CheckpointSeen>,
}

impl Conclusion {
    pub(super) fn of(verdict: &Verdict, returned: &AttemptReturn, checkpoints: Vec<CheckpointSeen>) -> Self {
        match verdict {
            Verdict::Done { .. } | Verdict::Withheld { .. } => Self {
                code: None,
                rule: None,
                message: returned.reported.summary.clone().unwrap_or_default(),
                signal: returned.is_partial().then_some(FinalSignal::PartialSuccess),
                checkpoints,
            },
            Verdict::Failed { code, rule, message } => {
                let is_aborted = verdict.is_aborted() || returned.claims.is_aborted();
                Self {
                    code: Some(code.clone()),
                    rule: rule.map(str::to_owned),
                    message: message.clone(),
                    signal: is_aborted.then_some(FinalSignal::Aborted),
                    checkpoints,
                }
            }
        }
    }

    /// Of an attempt without a verdict.
    pub(super) fn of_parked(reason: &str) -> Self {
        Self { code: None, rule: None, message: reason.to_owned(), signal: None, checkpoints: Vec::new() }
    }

    /// Of an attempt that writ ended. AOP has no code for that.
    pub(super) fn of_stopped(why: Stopped, message: &str) -> Self {
        let rule = match why {
            Stopped::Interrupted => "interrupted",
            Stopped::Fenced => "locks_lost",
            Stopped::Canceled | Stopped::Timeout | Stopped::Silence => "canceled",
        };
        Self {
            code: Some(Code::Unknown.as_str().to_owned()),
            rule: Some(rule.to_owned()),
            message: message.to_owned(),
            signal: (rule == "canceled").then_some(FinalSignal::Aborted),
            checkpoints: Vec::new(),
        }
    }
}

/// A verdict, and what decides what becomes of the task.
pub(super) struct Concluded<'v> {
    pub(super) verdict: &'v Verdict,
    pub(super) choice: Option<&'v Choice>,
    pub(super) rolled: Option<Rolled>,
    /// Why its work is not in the workspace.
    pub(super) unmerged: Option<String>,
}

/// The entries that move a task after a verdict.
pub(super) fn moves_after(work: &TaskWork, concluded: Concluded<'_>) -> Vec<Entry> {
    let Concluded { verdict, choice, rolled, unmerged } = concluded;
    let told = final_words(verdict, choice);
    let told = rolled.as_ref().map_or_else(|| told.clone(), |rolled| format!("{told}; {}", rolled.told));
    // The next attempt must begin with the same files as this one did.
    let is_clean = rolled.as_ref().is_none_or(|rolled| rolled.is_whole);
    let goes_on = matches!(choice, Some(Choice::Retry | Choice::Alternative(_)));
    let goes_on = goes_on && is_clean && !verdict.is_aborted();
    let is_aborted = choice == Some(&Choice::GiveUp(GivenUp::Critical));
    let mut entries: Vec<Entry> = rolled.and_then(|rolled| rolled.entry).into_iter().collect();
    let finish = |verified, withheld| Entry::Finish { task_id: work.task.id.clone(), verified, withheld };
    match (verdict, unmerged) {
        (Verdict::Done { .. } | Verdict::Withheld { .. }, Some(reason)) => {
            entries.push(work.move_to(Status::Blocked, Some(reason)));
        }
        (Verdict::Done { verified }, None) => entries.push(finish(*verified, None)),
        (Verdict::Withheld { checked, reason }, None) => {
            entries.push(finish(*checked, Some(reason.clone())));
        }
        (Verdict::Failed { .. }, _) if goes_on => {
            entries.push(work.move_to(Status::Blocked, Some(told)));
            entries.push(work.move_to(Status::Todo, None));
        }
        (Verdict::Failed { .. }, _) if is_aborted => {
            entries.push(work.move_to(Status::Canceled, Some(told)));
        }
        (Verdict::Failed { .. }, _) => entries.push(work.move_to(Status::Failed, Some(told))),
    }
    entries
}

/// Why a task is not done, and why it is not tried again.
fn final_words(verdict: &Verdict, choice: Option<&Choice>) -> String {
    let told = verdict.told();
    let choice = choice.filter(|_| !verdict.is_aborted());
    let Some(Choice::GiveUp(given_up)) = choice else { return told };
    match (given_up, given_up.told(), verdict) {
        (GivenUp::Critical, Some(why), _) => format!("{told}; {why}"),
        // Its own message names the budget.
        (GivenUp::OverBudget(_), _, Verdict::Failed { code, .. })
            if code == Code::CostLimitExceeded.as_str() =>
        {
            told
        }
        (_, Some(why), _) => format!("{why}; the last attempt: {told}"),
        (_, None, _) => told,
    }
}

pub(super) fn state_of(verdict: &Verdict) -> AttemptState {
    match verdict {
        Verdict::Done { .. } | Verdict::Withheld { .. } => AttemptState::Succeeded,
        Verdict::Failed { .. } => AttemptState::Failed,
    }
}

/// How an attempt that writ ended is recorded, and where its task goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoppedEnd {
    pub(super) state: AttemptState,
    pub(super) to: Status,
    pub(super) message: &'static str,
    /// Nothing of it has run, so it can run again without a person's decision.
    pub(super) is_unstarted: bool,
}

/// A canceled task stays canceled; an interrupted one waits to be continued; one that lost its locks is left to a
/// person.
pub(super) fn stopped_end(why: Stopped, is_unstarted: bool) -> StoppedEnd {
    let (state, to, message) = match why {
        Stopped::Interrupted if is_unstarted => (
            AttemptState::Interrupted,
            Status::Blocked,
            "not started: the machine is short of what a process needs",
        ),
        Stopped::Interrupted => (AttemptState::Interrupted, Status::Blocked, "interrupted by a signal"),
        Stopped::Fenced => (
            AttemptState::Unknown,
            Status::Blocked,
            "unknown: its locks were taken back, so others may have written there while it ran",
        ),
        Stopped::Canceled | Stopped::Timeout | Stopped::Silence => {
            (AttemptState::Interrupted, Status::Canceled, "canceled")
        }
    };
    StoppedEnd { state, to, message, is_unstarted: is_unstarted && why == Stopped::Interrupted }
}

impl StoppedEnd {
    /// The entries that move its task. One that another process has moved stays where it is.
    pub(super) fn moves(&self, work: &TaskWork, message: &str) -> Vec<Entry> {
        if work.task.status != Status::InProgress {
            return Vec::new();
        }
        let mut entries = vec![work.move_to(self.to, Some(message.to_owned()))];
        if self.is_unstarted {
            entries.push(work.move_to(Status::Todo, None));
        }
        entries
    }
}

pub(super) fn end_of(live: &Live, state: AttemptState, outcome: Outcome, token: Option<i64>) -> Entry {
    let attempt = &live.start.attempt;
    let (task_id, attempt_id) = (attempt.task_id.clone(), attempt.id.clone());
    Entry::EndAttempt { task_id, attempt_id, state, outcome: Box::new(outcome), token }
}
