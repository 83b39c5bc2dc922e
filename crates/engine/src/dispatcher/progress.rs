//! Progress of tasks in the log.

use contract::aop::event::{Body, ProgressUpdate};
use ops::Result;
use ops::aop_event::AopEvent;
use ops::run::journal::Entry;
use serde_json::json;

use super::Dispatcher;
use crate::executor::sign_of;
use contract::secrets::Hidden;

impl Dispatcher<'_> {
    /// Takes a report of a live task. It is written when it is due.
    pub(super) fn take_progress(&mut self, task: usize, update: ProgressUpdate) {
        self.progress.entry(task).or_default().push(update);
    }

    /// Writes the reports that are due.
    pub(super) fn write_progress(&mut self) -> Result<()> {
        let now_ms = self.now_ms();
        let mut due = Vec::new();
        for (task, log) in &mut self.progress {
            due.extend(log.due(now_ms).map(|update| (*task, update)));
        }
        for (task, update) in due {
            let mark = self.pipeline.mark();
            self.note_progress(task, update);
            // If somebody moved the task, there is nobody left to tell.
            self.commit_unless_moved(mark)?;
        }
        Ok(())
    }

    /// Notes the newest report with the end of the attempt.
    pub(super) fn note_last_progress(&mut self, task: usize) {
        let now_ms = self.now_ms();
        if let Some(update) = self.progress.get_mut(&task).and_then(|log| log.last(now_ms)) {
            self.note_progress(task, update);
        }
    }

    fn note_progress(&mut self, task: usize, update: ProgressUpdate) {
        let percentage = update.progress.percentage;
        let body = Body::ProgressUpdate(update);
        let told = sign_of(&body, &Hidden::default()).map(|sign| sign.told()).unwrap_or_default();
        let told = format!("{percentage}% {told}").trim_end().to_owned();
        let task_id = self.tasks[task].id.clone();
        let event = Box::new(AopEvent { body, told, more: json!({}) });
        self.note(Entry::Aop { task_id, event });
    }
}
