//! The files that a task's checks use: remembered before the work begins, and compared before the checks run.

use contract::domain::pins::{WORK_BEGAN, baseline, withheld};
use ops::pinnable;
use ops::run::journal::Entry;

use super::Dispatcher;
use crate::verify::pinned::digests;

impl Dispatcher<'_> {
    /// Remembers the files that the task's checks use, with its first attempt. A later attempt may find them changed.
    pub(super) fn note_pins(&mut self, task: usize) {
        let spec = &self.part(task).spec;
        if self.tasks[task].pinned.is_some() || spec.checks.is_empty() || spec.checks_may_change {
            return;
        }
        let paths = pinnable(spec, &self.run.asked);
        if paths.is_empty() {
            return;
        }
        let found = digests(&self.settings.index, self.directory(task), paths.keys().map(String::as_str));
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::Pin { task_id, files: baseline(&paths, &found) });
    }

    /// Why evidence is withheld although the checks passed: the task changed what they use.
    pub(crate) fn changed_pins(&self, task: usize) -> Option<String> {
        let before = self.tasks[task].pinned.as_ref().filter(|files| !files.is_empty())?;
        let now = digests(&self.settings.index, self.directory(task), before.keys().map(String::as_str));
        withheld(before, &now, WORK_BEGAN)
    }
}
