//! Tasks with `on_failure: ABORT_SESSION`: after their failure no other task starts, and those that run are canceled.

use contract::domain::failure_code::FailureCode;
use contract::domain::plan::policy::OnFailure;
use contract::domain::reason::Reason;
use contract::domain::status::Status;
use ops::Result;
use ops::aop_session::abort;

use super::Dispatcher;
use super::task_work::{TaskSet, TaskWork};
use crate::executor::Stopped;
use crate::observer::TaskProgress;

/// The tasks with a failure that ends all others.
pub(super) fn aborting(tasks: &TaskSet) -> Vec<usize> {
    let is_aborting = |work: &&TaskWork| work.spec().policy.on_failure == OnFailure::AbortSession;
    tasks.iter().filter(is_aborting).map(|work| work.index).collect()
}

/// Why a task ends with the one that failed. A TASK ends with the code that AOP has for it.
pub(super) fn aborted_by(work: &TaskWork, reason: &str) -> Reason {
    let code = work.asked().map(|_| FailureCode::DependencyFailed.into());
    Reason { code, ..Reason::new(format!("aborted: {reason}")) }
}

impl Dispatcher<'_> {
    /// Ends all other tasks once one has failed that ends its session. It is decided by what is stored, so that the next
    /// engine finishes what this one could not.
    pub(super) fn heed_aborts(&mut self) -> Result<()> {
        let failed = self.aborting.iter().copied().find(|&task| self.tasks[task].has_failed());
        let Some(failed) = failed else {
            self.engine.ends_early.aborted = None;
            return Ok(());
        };
        let name = self.tasks[failed].name().to_owned();
        let reason = format!("`{name}` failed, and its on_failure is ABORT_SESSION");
        if self.engine.ends_early.aborted.as_ref() != Some(&reason) {
            let told = "its failure ends all other tasks";
            self.engine.observer.report(TaskProgress::Warned { task: &name, told });
            self.engine.ends_early.aborted = Some(reason.clone());
            self.end_session(failed, &reason)?;
        }
        let processes = &self.engine.processes;
        self.tasks.for_each_live(|live| live.stop(Stopped::Canceled, processes));
        let is_waiting = |work: &&TaskWork| work.index != failed && work.task.status == Status::Todo;
        let waiting: Vec<usize> = self.tasks.iter().filter(is_waiting).map(|work| work.index).collect();
        waiting.into_iter().try_for_each(|task| self.cancel_waiting(task, &reason))
    }

    /// Cancels the other runs of the AOP session, as a person would.
    fn end_session(&mut self, failed: usize, reason: &str) -> Result<()> {
        let (engine, work) = (&mut self.engine, &self.tasks[failed]);
        let ended_at = work.attempts.last().and_then(|last| last.ended_at);
        let at = ended_at.unwrap_or_else(|| engine.cx.now().at);
        // Only TASKs belong to sessions.
        let reason = Reason::coded(FailureCode::DependencyFailed, format!("aborted: {reason}"));
        let ended = engine.patiently(|engine| {
            abort::end_others(engine.cx, &engine.caller, &engine.run, (at, reason.clone()))
        })?;
        for id in ended {
            let told = format!("its failure ends the run {id} of the same session");
            engine.observer.report(TaskProgress::Warned { task: work.name(), told: &told });
        }
        Ok(())
    }

    /// Cancels a task that has not begun.
    fn cancel_waiting(&mut self, task: usize, reason: &str) -> Result<()> {
        if !self.still_waits(task)? {
            return Ok(());
        }
        let mark = self.engine.pipeline.mark();
        let reason = aborted_by(&self.tasks[task], reason);
        if self.settle(task, Status::Canceled, reason, mark)? {
            self.tasks[task].clear_wait();
        }
        Ok(())
    }
}
