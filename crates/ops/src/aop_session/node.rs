//! The TASKs of a session, each with all work on it.

use std::collections::BTreeMap;

use contract::aop::task::{Provider, Task as Message};
use contract::domain::attempt::Attempt;
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::run::Run;
use contract::domain::task::{Task, TaskId};

use super::delegated_costs::{DelegatedCost, DelegatedCosts};
use crate::run::show::message_of;
use crate::run::task_end;

/// A TASK of a session. One that was submitted more than once was worked on more than once.
pub(super) struct SessionTask<'w> {
    pub(super) newest: TaskRun<'w>,
    /// Oldest first.
    earlier: Vec<TaskRun<'w>>,
    /// The TASK that delegated it: the one it names, or else the one that started its run.
    pub(super) parent: Option<String>,
}

/// One task of a run, and the TASK that it was made from.
pub(super) struct TaskRun<'w> {
    pub(super) message: Message,
    pub(super) task: &'w Task,
    pub(super) attempts: &'w [Attempt],
    pub(super) run: &'w Run,
    pub(super) delegated: DelegatedCost,
}

/// The TASKs of these runs, in the order in which they first came. The runs are sorted from old to new.
pub(super) fn nodes<'w>(
    runs: &[(&'w Run, &'w [(Task, Vec<Attempt>)])],
    delegated: &DelegatedCosts,
) -> Vec<SessionTask<'w>> {
    let mut nodes: Vec<SessionTask<'w>> = Vec::new();
    for (run, tasks) in runs {
        for (task, attempts) in *tasks {
            let message = message_of(task).cloned().and_then(|it| serde_json::from_value::<Message>(it).ok());
            let Some(message) = message else { continue };
            let delegated = delegated.get(&task.id).copied().unwrap_or_default();
            let work = TaskRun { message, task, attempts, run, delegated };
            match nodes.iter_mut().find(|known| known.task_id() == work.message.task.task_id) {
                Some(known) => {
                    let before = std::mem::replace(&mut known.newest, work);
                    known.earlier.push(before);
                }
                None => nodes.push(SessionTask { newest: work, earlier: Vec::new(), parent: None }),
            }
        }
    }
    let names: BTreeMap<TaskId, String> = nodes
        .iter()
        .flat_map(|node| node.works().map(|work| (work.task.id.clone(), node.task_id().to_owned())))
        .collect();
    for node in &mut nodes {
        node.parent = node.newest.parent(&names);
    }
    nodes
}

impl<'w> SessionTask<'w> {
    pub(super) fn task_id(&self) -> &str {
        &self.newest.message.task.task_id
    }

    /// All work on it, oldest first.
    pub(super) fn works(&self) -> impl Iterator<Item = &TaskRun<'w>> {
        self.earlier.iter().chain([&self.newest])
    }

    pub(super) fn state(&self) -> ReportedState {
        task_end::state(self.newest.task, self.newest.attempts)
    }

    pub(super) fn signal(&self) -> Option<FinalSignal> {
        task_end::signal(self.newest.task, self.newest.attempts)
    }
}

impl TaskRun<'_> {
    fn parent(&self, names: &BTreeMap<TaskId, String>) -> Option<String> {
        let starter = || self.run.asked.parent_task.as_ref().and_then(|id| names.get(id)).cloned();
        let named = self.message.task.parent_task_id.clone();
        named.or_else(|| starter().filter(|starter| *starter != self.message.task.task_id))
    }

    /// The provider and the model of an attempt: those of an alternative, where it used one.
    pub(super) fn used(&self, attempt: &Attempt) -> (Provider, String) {
        let listed = self.message.execution_policy.as_ref().map(|policy| &policy.alternative_models);
        let index = attempt.begun.alternative.and_then(|index| usize::try_from(index).ok());
        let other = index.zip(listed).and_then(|(index, listed)| listed.get(index));
        let target = &self.message.target;
        let (provider, model) =
            other.map_or((target.provider, &target.model), |other| (other.provider, &other.model));
        (provider, attempt.begun.model.as_ref().unwrap_or(model).clone())
    }

    /// The same of its last attempt; what the TASK names, if there is none.
    pub(super) fn last_used(&self) -> (Provider, String) {
        let target = &self.message.target;
        self.attempts.last().map_or_else(|| (target.provider, target.model.clone()), |last| self.used(last))
    }
}
