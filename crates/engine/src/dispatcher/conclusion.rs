//! The end of an attempt: its outcome as it is recorded, and what follows it.

use std::collections::BTreeMap;

use contract::aop::Code;
use contract::aop::response::FinalSignal;
use contract::domain::attempt::{Attempt, AttemptState, Outcome};
use contract::domain::report::CheckpointSeen;
use contract::plan::choice::{Choice, GivenUp, standing};
use ops::run::journal::Entry;

use super::Dispatcher;
use crate::beats::Beats;
use crate::executor::Stopped;
use crate::live::Live;
use crate::pipeline::l8_verify::Verdict;

impl Dispatcher<'_> {
    /// What follows an attempt that has failed. `None` for one that has not.
    pub(super) fn choice_after(
        &self,
        task: usize,
        live: &Live,
        verdict: &Verdict,
        outcome: &Outcome,
    ) -> Option<Choice> {
        if !matches!(verdict, Verdict::Failed { .. }) {
            return None;
        }
        let mut attempts = self.attempts[task].clone();
        attempts.retain(|attempt| attempt.begun.id != live.attempt.id);
        attempts.push(Attempt {
            begun: live.attempt.clone(),
            state: AttemptState::Failed,
            started_at: live.started_at,
            ended_at: None,
            outcome: Some(outcome.clone()),
            rollback: None,
        });
        let spec = &self.part(task).spec;
        standing(spec, &attempts).with_delegated(spec.budget, live.delegated).choice
    }

    /// How an attempt ended, and what was observed.
    pub(super) fn outcome_of(&self, live: &Live, state: AttemptState, conclusion: Conclusion) -> Outcome {
        let (stdout_digest, stderr_digest) = live.digests.clone().unzip();
        let Conclusion { code, rule, message, signal, checkpoints } = conclusion;
        let reported = &live.reported;
        let mut report = live.claims.report.clone();
        if let (Some(report), AttemptState::Failed) = (&mut report, state) {
            report.overturn(&message);
        }
        let late_ms = live.late_since_ms.map(|since_ms| self.now_ms().saturating_sub(since_ms));
        Outcome {
            exit_code: live.ended.exit_code,
            signal: live.ended.signal,
            code,
            rule,
            message,
            stdout_digest,
            stderr_digest,
            checks: live.seen.clone(),
            cost: reported.cost,
            tokens: reported.tokens,
            cost_basis: live.cost_basis.clone(),
            leftovers_killed: live.ended.leftovers_killed,
            confinement: confinement_of(live),
            network: live.ended.network.clone(),
            agent_session: live.agent_session.clone(),
            session_total: live.session_total.clone(),
            limited: live.limited.clone(),
            silences: live.beats.as_ref().and_then(Beats::missed),
            late_ms: late_ms.and_then(|late_ms| u64::try_from(late_ms).ok()),
            retry_after_ms: reported.retry_after_ms,
            took_over: live.took_over.clone(),
            outside: live.outside.clone().filter(|outside| !outside.is_empty()),
            snapshot: live.snapshot.clone(),
            final_signal: signal,
            report,
            checkpoints,
            recovery: None,
            warnings: live.claims.warnings.clone(),
        }
    }
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
    pub(super) fn of(verdict: &Verdict, live: &Live, checkpoints: Vec<CheckpointSeen>) -> Self {
        match verdict {
            Verdict::Done { .. } | Verdict::Withheld { .. } => Self {
                code: None,
                rule: None,
                message: live.reported.summary.clone().unwrap_or_default(),
                signal: live.is_partial().then_some(FinalSignal::PartialSuccess),
                checkpoints,
            },
            Verdict::Failed { code, rule, message } => {
                let is_aborted = verdict.is_aborted() || live.claims.is_aborted();
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

/// Why a task is not done, and why it is not tried again.
pub(super) fn final_words(verdict: &Verdict, choice: Option<&Choice>) -> String {
    let told = verdict.told();
    let choice = choice.filter(|_| !verdict.is_aborted());
    let Some(Choice::GiveUp(given_up)) = choice else { return told };
    match (given_up, given_up.told(), verdict) {
        (GivenUp::Critical, Some(why), _) => format!("{told}; {why}"),
        // It says so itself.
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

pub(super) fn end_of(live: &Live, state: AttemptState, outcome: Outcome, token: Option<i64>) -> Entry {
    let (task_id, attempt_id) = (live.attempt.task_id.clone(), live.attempt.id.clone());
    Entry::EndAttempt { task_id, attempt_id, state, outcome: Box::new(outcome), token }
}

/// What was in force, and what the plan asks for and did not get.
fn confinement_of(live: &Live) -> BTreeMap<String, String> {
    let Some(in_force) = &live.ended.in_force else { return BTreeMap::new() };
    let mut words = in_force.words();
    words.extend(live.overruled.clone());
    words
}
