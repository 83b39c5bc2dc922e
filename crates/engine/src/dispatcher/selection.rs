//! Which executor and model the next attempt of a task uses.

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
        Selected {
            executor: spec.executor.clone(),
            command: spec.command.clone(),
            model: spec.model.clone(),
            alternative: None,
        }
    }

    /// The executor's own conversation that the next attempt can go on with: that of the last one, if it was made with
    /// the same.
    pub(super) fn resumable(&self, task: usize, selected: &Selected) -> Option<String> {
        let last = self.attempts[task].last()?;
        let is_same = last.begun.executor == selected.executor.as_str()
            && last.begun.alternative == selected.alternative
            && last.begun.model == selected.model;
        last.outcome.as_ref().filter(|_| is_same)?.agent_session.clone()
    }
}
