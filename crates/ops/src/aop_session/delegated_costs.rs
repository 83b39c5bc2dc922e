//! What the runs cost that the tasks of a session started.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::run::{Run, RunId};
use contract::domain::task::{Task, TaskId};
use store::Tx;

use crate::crew::grants::ancestors;
use crate::error::Result;

/// By the task that started them.
pub(crate) type DelegatedCosts = BTreeMap<TaskId, DelegatedCost>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DelegatedCost {
    /// Of all runs under the task.
    pub(crate) all: Option<MicroUsd>,
    /// The part of runs outside the session. The others are counted with their own TASKs.
    pub(crate) outside: Option<MicroUsd>,
}

pub(super) fn plus(sum: Option<MicroUsd>, one: Option<MicroUsd>) -> Option<MicroUsd> {
    match (sum, one) {
        (Some(sum), Some(one)) => Some(MicroUsd(sum.0.saturating_add(one.0))),
        (sum, one) => sum.or(one),
    }
}

/// What attempts said that they cost; `None` if none said it.
pub(super) fn reported<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<MicroUsd> {
    let costs = attempts.into_iter().map(|attempt| attempt.outcome.as_ref()?.cost);
    costs.fold(None, plus)
}

pub(super) fn delegated_costs(
    tx: &Tx<'_>,
    session: &[(Run, Vec<(Task, Vec<Attempt>)>)],
) -> Result<DelegatedCosts> {
    let own: BTreeSet<&RunId> = session.iter().map(|(run, _)| &run.asked.id).collect();
    let of_session: BTreeSet<&TaskId> =
        session.iter().flat_map(|(_, tasks)| tasks.iter().map(|(task, _)| &task.id)).collect();
    let corrs: BTreeSet<&str> = session.iter().map(|(run, _)| run.asked.corr.as_str()).collect();
    let mut found = DelegatedCosts::new();
    for corr in corrs {
        for run in tx.runs_of_corr(corr, limits::SESSION_RUNS_MAX)? {
            if run.asked.parent_task.is_none() {
                continue;
            }
            let mut cost = None;
            for task in tx.tasks_of_run(&run.asked.id)? {
                cost = plus(cost, reported(&tx.attempts_of_task(&task.id)?));
            }
            let mut is_counted = own.contains(&run.asked.id);
            for task in ancestors(tx, &run)? {
                let is_of_session = of_session.contains(&task);
                let entry = found.entry(task).or_default();
                entry.all = plus(entry.all, cost);
                if is_of_session && !is_counted {
                    entry.outside = plus(entry.outside, cost);
                    is_counted = true;
                }
            }
        }
    }
    Ok(found)
}
