//! Private directories of attempts and tasks that have ended. They are removed while the engine waits for a child, so that no
//! task waits for it.

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
    /// In the order in which they were left: what is of an attempt is inside of what is of its task.
    pub(super) fn clear_away(&mut self) {
        let sandbox = &self.engine.settings.sandbox;
        for leftover in std::mem::take(&mut self.engine.leftovers) {
            match leftover {
                Leftover::OfAttempt { task, attempt } => sandbox.forget_attempt(&task, &attempt),
                Leftover::OfTask(task) => sandbox.forget(&task),
            }
        }
    }

    /// Removes everything, because nothing more is started.
    pub(super) fn clear_all_away(&mut self) {
        self.clear_away();
        let sandbox = &self.engine.settings.sandbox;
        let ended = self.tasks.iter().filter(|work| work.task.status.is_terminal());
        sandbox.forget_left(ended.map(|work| work.task.id.as_str()));
    }
}
