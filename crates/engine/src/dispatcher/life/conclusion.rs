//! The end of an attempt: its outcome as it is recorded, and what follows it.

use std::collections::BTreeMap;

use contract::domain::attempt::{Attempt, AttemptOutcome, AttemptState};
use contract::domain::crew::budget::Delegated;
use contract::domain::failure_code::FailureCode;
use contract::domain::reason::{Reason, ReasonRule};
use contract::domain::report::{CheckpointSeen, FinalSignal};
use contract::domain::status::Status;
use contract::plan::choice::{Choice, GivenUp, standing};
use ops::run::journal::JournalEntry;

use crate::dispatcher::live::{AttemptReturn, Live};
use crate::dispatcher::rollback::Rolled;
use crate::dispatcher::task_work::TaskWork;
use crate::executor::Stopped;
use crate::pipeline::l8_verify::AttemptVerdict;

/// What follows an attempt that has failed. `None` for one that has not.
pub(super) fn choice_after(
    work: &TaskWork,
    live: &Live,
    verdict: &AttemptVerdict,
    outcome: &AttemptOutcome,
    delegated: Delegated,
) -> Option<Choice> {
    if !matches!(verdict, AttemptVerdict::Failed(_)) {
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
pub(super) fn outcome_of(
    live: &Live,
    state: AttemptState,
    conclusion: Conclusion,
    now_ms: i64,
) -> AttemptOutcome {
    let returned = live.phase.returned();
    let (stdout_digest, stderr_digest) = returned.digests.clone().unzip();
    let Conclusion { code, rule, message, signal, checkpoints } = conclusion;
    let mut report = returned.claims.report.clone();
    if let (Some(report), AttemptState::Failed) = (&mut report, state) {
        report.overturn(&message);
    }
    AttemptOutcome {
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
    pub(super) fn of(
        verdict: &AttemptVerdict,
        returned: &AttemptReturn,
        checkpoints: Vec<CheckpointSeen>,
    ) -> Self {
        match verdict {
            AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } => Self {
                code: None,
                rule: None,
                message: returned.reported.summary.clone().unwrap_or_default(),
                signal: returned.is_partial().then_some(FinalSignal::PartialSuccess),
                checkpoints,
            },
            AttemptVerdict::Failed(reason) => {
                let is_aborted = verdict.is_aborted() || returned.claims.is_aborted();
                let signal = is_aborted.then_some(FinalSignal::Aborted);
                Self { signal, checkpoints, ..Self::of_reason(reason, reason.text.clone()) }
            }
        }
    }

    /// Of an attempt without a verdict.
    pub(super) fn of_parked(reason: &str) -> Self {
        Self::of_reason(&Reason::new(reason), reason.to_owned())
    }

    /// Of an attempt that writ ended. AOP has no code for that.
    pub(super) fn of_stopped(reason: &Reason) -> Self {
        let signal = (reason.rule == Some(ReasonRule::Canceled)).then_some(FinalSignal::Aborted);
        let code = Some(FailureCode::Unknown.as_str().to_owned());
        Self { code, signal, ..Self::of_reason(reason, reason.to_string()) }
    }

    fn of_reason(reason: &Reason, message: String) -> Self {
        Self {
            code: reason.code.map(|code| code.as_str().to_owned()),
            rule: reason.rule.map(|rule| rule.as_str().to_owned()),
            message,
            signal: None,
            checkpoints: Vec::new(),
        }
    }
}

/// The rule by which writ ended an attempt.
pub(super) fn rule_of(why: Stopped) -> ReasonRule {
    match why {
        Stopped::Interrupted => ReasonRule::Interrupted,
        Stopped::Fenced => ReasonRule::LocksLost,
        Stopped::Canceled | Stopped::Timeout | Stopped::Silence => ReasonRule::Canceled,
    }
}

/// A verdict, and what decides what becomes of the task.
pub(super) struct Concluded<'v> {
    pub(super) verdict: &'v AttemptVerdict,
    pub(super) choice: Option<&'v Choice>,
    pub(super) rolled: Option<Rolled>,
    /// Why its work is not in the workspace.
    pub(super) unmerged: Option<Reason>,
}

/// The entries that move a task after a verdict.
pub(super) fn moves_after(work: &TaskWork, concluded: Concluded<'_>) -> Vec<JournalEntry> {
    let Concluded { verdict, choice, rolled, unmerged } = concluded;
    let mut reason = final_reason(verdict, choice);
    if let Some(rolled) = &rolled {
        reason = reason.and(&rolled.told);
    }
    // The next attempt must begin with the same files as this one did.
    let is_clean = rolled.as_ref().is_none_or(|rolled| rolled.is_whole);
    let goes_on = matches!(choice, Some(Choice::Retry | Choice::Alternative(_)));
    let goes_on = goes_on && is_clean && !verdict.is_aborted();
    let is_aborted = choice == Some(&Choice::GiveUp(GivenUp::Critical));
    let mut entries: Vec<JournalEntry> = rolled.and_then(|rolled| rolled.entry).into_iter().collect();
    let finish =
        |verified, withheld| JournalEntry::Finish { task_id: work.task.id.clone(), verified, withheld };
    match (verdict, unmerged) {
        (AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. }, Some(unmerged)) => {
            entries.push(work.move_to(Status::Blocked, Some(unmerged)));
        }
        (AttemptVerdict::Done { verified }, None) => entries.push(finish(*verified, None)),
        (AttemptVerdict::Withheld { checked, reason }, None) => {
            entries.push(finish(*checked, Some(reason.as_str().into())));
        }
        (AttemptVerdict::Failed(_), _) if goes_on => {
            entries.push(work.move_to(Status::Blocked, Some(reason)));
            entries.push(work.move_to(Status::Todo, None));
        }
        (AttemptVerdict::Failed(_), _) if is_aborted => {
            entries.push(work.move_to(Status::Canceled, Some(reason)));
        }
        (AttemptVerdict::Failed(_), _) => entries.push(work.move_to(Status::Failed, Some(reason))),
    }
    entries
}

/// Why a task is not done, and why it is not tried again.
fn final_reason(verdict: &AttemptVerdict, choice: Option<&Choice>) -> Reason {
    let last = match verdict {
        AttemptVerdict::Failed(reason) => reason.clone(),
        AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } => Reason::new(verdict.told()),
    };
    let choice = choice.filter(|_| !verdict.is_aborted());
    let Some(Choice::GiveUp(given_up)) = choice else { return last };
    match (given_up, given_up.reason()) {
        (GivenUp::Critical, Some(why)) => last.and(&why.text),
        // Its own text names the budget.
        (GivenUp::OverBudget(_), _) if last.failure() == Some(FailureCode::CostLimitExceeded) => last,
        (_, Some(why)) => why.map_text(|text| format!("{text}; the last attempt: {last}")),
        (_, None) => last,
    }
}

pub(super) fn state_of(verdict: &AttemptVerdict) -> AttemptState {
    match verdict {
        AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } => AttemptState::Succeeded,
        AttemptVerdict::Failed(_) => AttemptState::Failed,
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
    pub(super) fn moves(&self, work: &TaskWork, reason: &Reason) -> Vec<JournalEntry> {
        if work.task.status != Status::InProgress {
            return Vec::new();
        }
        let mut entries = vec![work.move_to(self.to, Some(reason.clone()))];
        if self.is_unstarted {
            entries.push(work.move_to(Status::Todo, None));
        }
        entries
    }
}

pub(super) fn end_of(
    live: &Live,
    state: AttemptState,
    outcome: AttemptOutcome,
    token: Option<i64>,
) -> JournalEntry {
    let attempt = &live.start.attempt;
    let (task_id, attempt_id) = (attempt.task_id.clone(), attempt.id.clone());
    JournalEntry::EndAttempt { task_id, attempt_id, state, outcome: Box::new(outcome), token }
}
