//! The RESPONSE that is made of what an agent program said.

use contract::aop::event::Body;
use contract::aop::response::{
    Agent, CostTracking, ErrorDetails, ExecutionSummary, FinalSignal, Response, State, TaskStatus,
};
use contract::aop::task::{Provider, Task};
use contract::domain::attempt::SessionTotal;
use contract::domain::money::MicroUsd;
use contract::plan::ExecutorName;

use super::Work;
use super::agent::progress;
use super::talk::{Talk, Usage};
use crate::pipeline::l7_delegate::Claim;

/// To whom a program answers.
pub(super) struct Answering {
    /// The executor's name.
    pub(super) executor: String,
    session_id: String,
    task_id: String,
    provider: Provider,
    model: Option<String>,
}

impl Answering {
    pub(super) fn new(
        work: &Work<'_>,
        executor: &ExecutorName,
        submitted: Option<&Task>,
        provider: Provider,
    ) -> Self {
        let ids = submitted.map(|task| (task.session.session_id.clone(), task.task.task_id.clone()));
        let (session_id, task_id) =
            ids.unwrap_or_else(|| (work.run.id.to_string(), work.task.id.to_string()));
        let model = work.model.map(str::to_owned);
        Self { executor: executor.as_str().to_owned(), session_id, task_id, provider, model }
    }

    /// A line of the program as an event.
    pub(super) fn progress(&self, shown: String) -> Body {
        progress(&self.executor, shown)
    }

    /// What this attempt used, and what its conversation has used with it.
    pub(super) fn used(&self, said: &Usage, so_far: Option<&SessionTotal>) -> (Usage, Option<SessionTotal>) {
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

    pub(super) fn response(&self, talk: &Talk, claim: &Claim, usage: &Usage) -> Response {
        let model = talk.model.clone().or_else(|| self.model.clone());
        let agent = Agent {
            name: self.executor.clone(),
            provider: self.provider,
            model: model.unwrap_or_else(|| "unspecified".to_owned()),
            extensions: None,
        };
        let (state, signal, error) = match claim {
            Claim::Success => (State::Completed, FinalSignal::Success, None),
            Claim::Failure { code, message } => {
                let details = ErrorDetails {
                    error_code: code.clone(),
                    message: message.clone(),
                    stack_trace: None,
                    recovery_suggestions: Vec::new(),
                    extensions: None,
                };
                (State::Failed, FinalSignal::Failure, Some(details))
            }
        };
        let status = TaskStatus { state, final_signal: Some(signal), message: None, extensions: None };
        let mut response = Response::new(self.session_id.as_str(), self.task_id.as_str(), agent, status);
        let omitted = talk.actions_omitted;
        let warnings = (omitted > 0).then(|| format!("{omitted} more tool calls are not listed"));
        response.execution_summary = Some(ExecutionSummary {
            summary: (!talk.text.is_empty()).then(|| talk.text.clone()),
            actions: talk.actions.clone(),
            warnings: talk.warnings.iter().cloned().chain(warnings).collect(),
            ..ExecutionSummary::default()
        });
        response.error_details = error;
        let is_known = usage.input.is_some() || usage.output.is_some() || usage.cost_usd.is_some();
        response.cost_tracking = is_known.then(|| CostTracking {
            actual_cost_usd: usage.cost_usd,
            tokens_input: usage.input,
            tokens_output: usage.output,
            ..CostTracking::default()
        });
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answering() -> Answering {
        Answering {
            executor: "claude".to_owned(),
            session_id: "S".to_owned(),
            task_id: "T".to_owned(),
            provider: Provider::Claude,
            model: None,
        }
    }

    #[test]
    fn the_cost_of_a_conversation_is_counted_once() {
        let said = |cost| Usage { cost_usd: Some(cost), cost_is_total: true, ..Usage::default() };
        let (first, total) = answering().used(&said(0.02), None);
        let (second, total) = answering().used(&said(0.05), total.as_ref());
        let spent = [first, second].map(|usage| usage.cost_usd.and_then(MicroUsd::from_dollars).unwrap().0);
        assert_eq!(spent, [20_000, 30_000]);
        assert_eq!(total.and_then(|total| total.cost), Some(MicroUsd(50_000)));
    }

    #[test]
    fn a_total_that_is_smaller_than_before_is_this_calls_own() {
        let said = Usage { cost_usd: Some(0.01), cost_is_total: true, ..Usage::default() };
        let before = SessionTotal { cost: Some(MicroUsd(50_000)), ..SessionTotal::default() };
        let (own, _) = answering().used(&said, Some(&before));
        assert_eq!(own.cost_usd, Some(0.01));
        let negative = Usage { cost_usd: Some(-1.0), ..said };
        assert_eq!(answering().used(&negative, None).0.cost_usd, None);
    }

    #[test]
    fn tokens_of_a_conversation_are_counted_once() {
        let said = Usage { input: Some(90), output: Some(9), tokens_are_total: true, ..Usage::default() };
        let before =
            SessionTotal { tokens_input: Some(40), tokens_output: Some(4), ..SessionTotal::default() };
        let (own, total) = answering().used(&said, Some(&before));
        assert_eq!((own.input, own.output), (Some(50), Some(5)));
        assert_eq!(total.unwrap().tokens_input, Some(90));
    }
}
