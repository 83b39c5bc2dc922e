//! The conversation with an agent: what it said, and the outcome of the attempt when its program has ended.

use contract::aop::event::{Body, HeartbeatBody};
use contract::aop::task::Provider;
use contract::domain::attempt::{Limited, SessionTotal};
use contract::domain::executor::ExecutorName;
use contract::domain::money::MicroUsd;
use contract::domain::report::{
    AgentReport, CostReport, ErrorReport, ExecutorReport, FinalSignal, ReportedState,
};
use contract::domain::text::cut;
use contract::domain::time::Timestamp;
use contract::secrets::Hidden;

use super::error_tail::ErrorTail;
use super::repeats::Due;
use super::{
    AttemptWork, ChildEnd, Claims, ResponseReport, Returned, Talk, Trouble, TurnEnd, Wishes, failure,
};
use crate::pipeline::l7_delegate::ExecutorClaim;

/// A provider may answer with a whole page.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Cost and tokens as an executor counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct AgentUsage {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    /// The part of the input that the provider had cached.
    pub(crate) cached_input: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// Whether the tokens, and whether the cost, are those of the whole conversation with its earlier calls.
    pub(crate) tokens_are_total: bool,
    pub(crate) cost_is_total: bool,
}

impl AgentUsage {
    fn is_known(&self) -> bool {
        self.input.is_some() || self.output.is_some() || self.cost_usd.is_some()
    }
}

pub(super) struct Conversation {
    pub(super) talk: Talk,
    pub(super) errors: ErrorTail,
    hidden: Hidden,
    executor: String,
    provider: Provider,
    /// The model that was asked for.
    model: Option<String>,
    /// The usage of the conversation before this attempt.
    so_far: Option<SessionTotal>,
    /// The session id that was passed on to the store.
    session_stored: Option<String>,
    started_at: Timestamp,
}

impl Conversation {
    pub(super) fn new(work: &AttemptWork<'_>, executor: &ExecutorName, provider: Provider) -> Self {
        Self {
            talk: Talk::default(),
            errors: ErrorTail::default(),
            hidden: work.hidden.clone(),
            executor: executor.as_str().to_owned(),
            provider,
            model: work.model.map(str::to_owned),
            so_far: work.so_far.cloned(),
            session_stored: None,
            started_at: work.now,
        }
    }

    /// A line of the program as a sign of life.
    pub(super) fn progress(&self, shown: Option<String>) -> Vec<Body> {
        let beat = |shown| {
            Body::Heartbeat(HeartbeatBody {
                agent: self.executor.clone(),
                progress_percentage: None,
                current_phase: Some(shown),
                current_checkpoint: None,
            })
        };
        shown.map(beat).into_iter().collect()
    }

    /// Stops a program that gave up, stores a new session id, and looks at the workspace where calls repeat.
    pub(super) fn wishes(&mut self) -> Wishes {
        let session = self.talk.session.clone().filter(|name| self.session_stored.as_ref() != Some(name));
        if session.is_some() {
            self.session_stored.clone_from(&session);
        }
        let stop = self.talk.given_up.is_some();
        Wishes { session, stop, look: !stop && self.talk.repeats.due() == Due::Look, input: Vec::new() }
    }

    /// The outcome of the attempt. `by_code` maps exit codes of the program.
    pub(super) fn returned(&self, ended: &ChildEnd, by_code: impl Fn(i32) -> Option<Trouble>) -> Returned {
        let (claim, limited) = self.claim(ended, by_code);
        let (usage, session_total) = counted(&self.talk.used(limited.as_ref()), self.so_far.as_ref());
        let report = self.report(&claim, &usage).bounded(&|text| self.hidden.clean(text).into_owned());
        let mut reported = ResponseReport::default();
        reported.spend(&usage);
        reported.model = Some(self.model());
        reported.summary = self.summary().map(|text| self.hidden.clean(&text).into_owned());
        Returned {
            claims: Claims { report: Some(Box::new(report)), warnings: Vec::new() },
            reported,
            claim,
            agent_session: self.talk.session.clone(),
            limited,
            session_total,
        }
    }

    /// The terminal event and its status decide; the exit code only adds to it.
    fn claim(
        &self,
        ended: &ChildEnd,
        by_code: impl Fn(i32) -> Option<Trouble>,
    ) -> (ExecutorClaim, Option<Limited>) {
        if let Some((code, message)) = &self.talk.given_up {
            return (failure(code.as_str(), self.hidden.one_line(message)), None);
        }
        match (&self.talk.end, ended.exit_code) {
            (Some(TurnEnd::Failed(trouble)), _) => self.troubled(trouble, ended),
            (Some(TurnEnd::Completed), Some(0)) => (ExecutorClaim::Success, None),
            (Some(TurnEnd::Completed), code) => {
                let how = code.map_or_else(|| "with a signal".to_owned(), |code| format!("with exit {code}"));
                (failure("E_PROCESS_CRASH", format!("ended {how} after it had reported success")), None)
            }
            (None, code) => {
                let meant = code.filter(|code| *code != 0).and_then(by_code);
                self.unfinished(ended, meant)
            }
        }
    }

    fn troubled(&self, trouble: &Trouble, ended: &ChildEnd) -> (ExecutorClaim, Option<Limited>) {
        let (code, message) = trouble.told();
        let message = cut(&self.hidden.one_line(&message), MESSAGE_CHARS_MAX);
        let now = ended.at.unwrap_or(self.started_at);
        let limited = trouble.limited(&self.executor, message.clone(), now);
        (failure(code.as_str(), message), limited)
    }

    /// The stream ended without a terminal event: the last trouble, the exit code or standard error give the reason.
    fn unfinished(&self, ended: &ChildEnd, meant: Option<Trouble>) -> (ExecutorClaim, Option<Limited>) {
        let printed = self.errors.last_line();
        if let Some(trouble) = &self.talk.trouble {
            return self.troubled(trouble, ended);
        }
        if let Some(trouble) = meant {
            let words =
                printed.map_or_else(|| trouble.words.clone(), |line| format!("{}: {line}", trouble.words));
            return self.troubled(&Trouble { words, ..trouble }, ended);
        }
        let how = match ended.exit_code {
            Some(0) => "ended before its answer was complete".to_owned(),
            Some(_) | None => ended.how(),
        };
        let said = printed.map(Trouble::said);
        if let Some(trouble) = said.as_ref().filter(|trouble| trouble.is_of_the_model()) {
            return self.troubled(trouble, ended);
        }
        let words = said.map_or_else(|| how.clone(), |trouble| format!("{how}: {}", trouble.words));
        let code = if ended.exit_code == Some(0) { "E_MALFORMED_RESPONSE" } else { "E_PROCESS_CRASH" };
        (failure(code, self.hidden.one_line(&words)), None)
    }

    fn model(&self) -> String {
        let model = self.talk.model.clone().or_else(|| self.model.clone());
        model.unwrap_or_else(|| "unspecified".to_owned())
    }

    fn summary(&self) -> Option<String> {
        Some(self.talk.text.clone()).filter(|text| !text.is_empty())
    }

    fn report(&self, claim: &ExecutorClaim, usage: &AgentUsage) -> ExecutorReport {
        let talk = &self.talk;
        let agent = AgentReport {
            name: self.executor.clone(),
            provider: self.provider.as_str().to_owned(),
            model: self.model(),
        };
        let (state, signal, error) = match claim {
            ExecutorClaim::Success => (ReportedState::Completed, FinalSignal::Success, None),
            ExecutorClaim::Failure { code, message } => {
                (ReportedState::Failed, FinalSignal::Failure, Some(ErrorReport::new(code.as_str(), message)))
            }
        };
        let omitted = talk.actions_omitted;
        let omitted = (omitted > 0).then(|| format!("{omitted} more tool calls are not listed"));
        ExecutorReport {
            final_signal: Some(signal),
            summary: self.summary(),
            actions: talk.actions.clone(),
            warnings: talk.warnings.iter().cloned().chain(omitted).collect(),
            error,
            cost: usage.is_known().then(|| CostReport {
                actual: usage.cost_usd.and_then(MicroUsd::from_dollars),
                tokens_input: usage.input,
                tokens_output: usage.output,
                ..CostReport::default()
            }),
            ..ExecutorReport::new(state, agent)
        }
    }
}

/// The usage of this attempt, and the total of its conversation.
fn counted(said: &AgentUsage, so_far: Option<&SessionTotal>) -> (AgentUsage, Option<SessionTotal>) {
    let mut own = *said;
    let mut total = SessionTotal::default();
    if said.cost_is_total {
        // A negative sum is none.
        let said_usd = said.cost_usd.filter(|sum| *sum >= 0.0);
        total.cost = said_usd.and_then(MicroUsd::reported);
        // A smaller sum than before is not the conversation's.
        let before = so_far.and_then(|total| total.cost).filter(|before| total.cost >= Some(*before));
        own.cost_usd = said_usd.map(|sum| (sum - before.map_or(0.0, MicroUsd::dollars)).max(0.0));
    }
    if said.tokens_are_total {
        (total.tokens_input, total.tokens_output) = (said.input, said.output);
        let less = |sum: Option<u64>, before: Option<u64>| {
            sum.map(|sum| sum.checked_sub(before.unwrap_or(0)).unwrap_or(sum))
        };
        own.input = less(said.input, so_far.and_then(|total| total.tokens_input));
        own.output = less(said.output, so_far.and_then(|total| total.tokens_output));
    }
    let is_known = total != SessionTotal::default();
    (own, if is_known { Some(total) } else { so_far.cloned() })
}

#[cfg(test)]
mod tests;
