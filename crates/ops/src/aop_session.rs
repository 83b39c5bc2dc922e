//! AOP sessions: runs that share a session id, what became of their TASKs, and what they cost.

pub mod abort;
pub mod audit;
mod costs;
mod delegated_costs;
pub mod final_report;
mod graph;
pub mod list;
mod node;
pub mod report;
mod session_status;
pub mod show;
pub mod trail;

use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::run::Run;
use contract::domain::task::Task;

use crate::context::Context;
use crate::error::{Error, Result};
use delegated_costs::{DelegatedCosts, delegated_costs};

/// A session with everything in it.
pub(crate) struct WholeSession {
    pub(crate) session_id: String,
    /// Oldest first, each with its tasks in the order of the plan and their attempts.
    pub(crate) runs: Vec<(Run, Vec<(Task, Vec<Attempt>)>)>,
    /// What the runs cost that its tasks started.
    pub(crate) delegated: DelegatedCosts,
}

/// Reads a session by its id.
pub(crate) fn whole(cx: &mut Context, session_id: &str) -> Result<WholeSession> {
    let tx = cx.store.read()?;
    let mut runs = Vec::new();
    for run in tx.runs_of_session(session_id, limits::SESSION_RUNS_MAX)? {
        let mut tasks = Vec::new();
        for task in tx.tasks_of_run(&run.asked.id)? {
            let attempts = tx.attempts_of_task(&task.id)?;
            tasks.push((task, attempts));
        }
        runs.push((run, tasks));
    }
    if runs.is_empty() {
        return Err(Error::not_found("session", session_id).hint("`writ session list` lists sessions"));
    }
    runs.reverse();
    let delegated = delegated_costs(&tx, &runs)?;
    Ok(WholeSession { session_id: session_id.to_owned(), runs, delegated })
}
