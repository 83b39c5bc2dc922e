//! Progress of tasks in the log.

use contract::aop::event::{Body, ProgressUpdate};
use ops::Result;
use ops::aop_event::AopEvent;
use ops::run::journal::JournalEntry;
use serde_json::json;

use super::Dispatcher;
use super::task_work::TaskWork;
use crate::executor::sign_of;
use contract::secrets::Hidden;

impl Dispatcher<'_> {
    /// Writes the reports that are due.
    pub(super) fn write_progress(&mut self) -> Result<()> {
        let now_ms = self.engine.now_ms();
        for work in self.tasks.iter_mut() {
            let Some(update) = work.progress.due(now_ms) else { continue };
            let mark = self.engine.pipeline.mark();
            self.engine.note(entry(work, update));
            // If another process moved the task, its progress is over.
            self.engine.commit_unless_moved(mark)?;
        }
        Ok(())
    }
}

/// The newest report, to be written with the end of the attempt.
pub(super) fn last(work: &mut TaskWork, now_ms: i64) -> Option<JournalEntry> {
    let update = work.progress.last(now_ms)?;
    Some(entry(work, update))
}

fn entry(work: &TaskWork, update: ProgressUpdate) -> JournalEntry {
    let percentage = update.progress.percentage;
    let body = Body::ProgressUpdate(update);
    let told = sign_of(&body, &Hidden::default()).map(|sign| sign.told()).unwrap_or_default();
    let told = format!("{percentage}% {told}").trim_end().to_owned();
    let event = Box::new(AopEvent { body, told, more: json!({}) });
    JournalEntry::Aop { task_id: work.task.id.clone(), event }
}
