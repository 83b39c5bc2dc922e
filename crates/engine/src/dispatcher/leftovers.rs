//! Private directories of attempts and tasks that have ended. They are removed where the engine would only wait, so that the
//! next task does not wait for it.

use super::Dispatcher;

/// What is to be removed.
#[derive(Debug)]
pub(super) enum Leftover {
    /// Temporary files and the socket of one attempt.
    OfAttempt { task: String, attempt: String },
    /// Everything of a task that will not run again.
    OfTask(String),
}

impl Dispatcher<'_> {
    pub(super) fn leave(&mut self, leftover: Leftover) {
        self.leftovers.push(leftover);
    }

    /// In the order in which they were left: what is of an attempt is inside of what is of its task.
    pub(super) fn clear_away(&mut self) {
        let sandbox = &self.settings.sandbox;
        for leftover in std::mem::take(&mut self.leftovers) {
            match leftover {
                Leftover::OfAttempt { task, attempt } => sandbox.forget_attempt(&task, &attempt),
                Leftover::OfTask(task) => sandbox.forget(&task),
            }
        }
        sandbox.ready.fill(&sandbox.root);
    }

    /// The same for an engine that starts nothing more.
    pub(super) fn clear_all_away(&mut self) {
        self.clear_away();
        let sandbox = &self.settings.sandbox;
        sandbox.ready.clear(&sandbox.root);
    }
}
