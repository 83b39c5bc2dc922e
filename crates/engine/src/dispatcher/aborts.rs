//! Tasks whose failure ends the run: no other task starts, and those that run are canceled.

use std::time::Duration;

use contract::aop::Code;
use contract::aop::task::OnFailure;
use contract::domain::attempt::has_failed;
use contract::domain::status::Status;
use contract::domain::task::Task;
use ops::Result;
use ops::aop_session::abort;
use ops::run::journal::Entry;

use super::Dispatcher;
use crate::executor::Stopped;
use crate::observer::Progress;

/// The tasks whose failure ends all others.
pub(super) fn aborting(tasks: &[Task]) -> Vec<usize> {
    let is_aborting = |task: &Task| {
        task.part.as_ref().is_some_and(|part| part.spec.policy.on_failure == OnFailure::AbortSession)
    };
    (0..tasks.len()).filter(|&task| is_aborting(&tasks[task])).collect()
}

impl Dispatcher<'_> {
    /// Ends all other tasks once one has failed whose author wants that. It is decided by what is stored, so that the next
    /// engine finishes what this one could not.
    pub(super) fn heed_aborts(&mut self) -> Result<()> {
        let failed = self.aborting.iter().copied().find(|&task| self.has_failed(task));
        let Some(failed) = failed else {
            self.aborted = None;
            return Ok(());
        };
        let name = self.board.slot(failed).name.clone();
        let reason = format!("`{name}` failed, and its on_failure is ABORT_SESSION");
        if self.aborted.as_ref() != Some(&reason) {
            self.observer.report(Progress::Warned { task: &name, told: "its failure ends all other tasks" });
            self.aborted = Some(reason.clone());
            self.end_session(failed, &reason)?;
        }
        for live in self.live.values_mut() {
            live.stop(Stopped::Canceled, &*self.children);
        }
        let waiting = |task: &usize| *task != failed && self.board.slot(*task).status == Status::Todo;
        let waiting: Vec<usize> = (0..self.tasks.len()).filter(waiting).collect();
        waiting.into_iter().try_for_each(|task| self.cancel_waiting(task, &reason))
    }

    /// Cancels the other runs of the AOP session, as a person would.
    fn end_session(&mut self, failed: usize, reason: &str) -> Result<()> {
        let ended_at = self.attempts[failed].last().and_then(|last| last.ended_at);
        let at = ended_at.unwrap_or_else(|| self.cx.now().at);
        // Only TASKs belong to sessions.
        let reason = format!("{}: aborted: {reason}", Code::DependencyFailed);
        let run = self.run.clone();
        let ended =
            self.patiently(|engine| abort::end_others(engine.cx, &engine.caller, &run, (at, &reason)))?;
        for id in ended {
            let told = format!("its failure ends the run {id} of the same session");
            self.observer.report(Progress::Warned { task: &self.board.slot(failed).name, told: &told });
        }
        Ok(())
    }

    /// Why a task ends with the one that failed. A TASK ends with the code that AOP has for it.
    pub(super) fn aborted_by(&self, task: usize, reason: &str) -> String {
        match self.aop(task) {
            Some(_) => format!("{}: aborted: {reason}", Code::DependencyFailed),
            None => format!("aborted: {reason}"),
        }
    }

    fn has_failed(&self, task: usize) -> bool {
        let last = self.attempts[task].last().map(|last| last.state);
        has_failed(self.board.slot(task).status, last)
    }

    /// Cancels a task that has not begun.
    fn cancel_waiting(&mut self, task: usize, reason: &str) -> Result<()> {
        if !self.still_waits(task)? {
            return Ok(());
        }
        let mark = self.pipeline.mark();
        let task_id = self.tasks[task].id.clone();
        let reason = Some(self.aborted_by(task, reason));
        self.note(Entry::MoveTask { task_id, to: Status::Canceled, reason, verified: false });
        let canceled = self.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if canceled {
            self.waits_no_more(task);
            self.tell_end(task, Duration::ZERO);
        }
        Ok(())
    }
}
