//! Which executor and model the next attempt of a task uses.

use contract::aop::codes::Code;
use contract::domain::attempt::{Attempt, SessionTotal};
use contract::plan::ExecutorName;

use super::Dispatcher;

/// What an attempt is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    pub(super) executor: ExecutorName,
    pub(super) command: Vec<String>,
    pub(super) model: Option<String>,
    /// Which of the task's alternatives it is; `None` for what the task itself names.
    pub(super) alternative: Option<u32>,
}

impl Dispatcher<'_> {
    /// What the next attempt of a task is made with.
    pub(super) fn selected(&self, task: usize) -> Selected {
        let spec = &self.part(task).spec;
        let mut selected = Selected {
            executor: spec.executor.clone(),
            command: spec.command.clone(),
            model: spec.model.clone(),
            alternative: None,
        };
        self.with_usual_model(&mut selected);
        selected
    }

    /// The model that is configured for the executor, where none is named.
    fn with_usual_model(&self, selected: &mut Selected) {
        let executor = self.settings.executors.find(&selected.executor);
        let usual = executor.and_then(|executor| executor.configured().model.clone());
        selected.model = selected.model.take().or(usual);
    }

    /// The executor's own conversation that the next attempt can go on with: that of the last one, if it was made with
    /// the same.
    pub(super) fn resumable(&self, task: usize, selected: &Selected) -> Option<String> {
        let last = self.attempts[task].last()?;
        let is_same = last.begun.executor == selected.executor.as_str()
            && last.begun.alternative == selected.alternative
            && last.begun.model == selected.model;
        if is_same { conversation(last) } else { None }
    }

    /// What a conversation had used when an attempt last reported it.
    pub(super) fn session_total(&self, task: usize, session: &str) -> Option<&SessionTotal> {
        let outcomes = self.attempts[task].iter().rev().filter_map(|attempt| attempt.outcome.as_ref());
        let mut of_session = outcomes.filter(|outcome| outcome.agent_session.as_deref() == Some(session));
        of_session.find_map(|outcome| outcome.session_total.as_ref())
    }
}

/// The conversation of an attempt, unless it is too long to go on.
fn conversation(last: &Attempt) -> Option<String> {
    match &last.outcome {
        Some(outcome) if outcome.code.as_deref() == Some(Code::ContextOverflow.as_str()) => None,
        Some(outcome) => outcome.agent_session.clone(),
        None => last.begun.agent_session.clone(),
    }
}
