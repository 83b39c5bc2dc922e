//! The files that a task's checks use: remembered before the work begins, and compared before the checks run.

use contract::domain::pins::{WORK_BEGAN, baseline, withheld};
use ops::pinnable;
use ops::run::journal::JournalEntry;

use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use crate::verify::pinned::digests;

/// The files that the task's checks use, kept with its first attempt. A later attempt may find them changed.
pub(super) fn entry(engine: &EngineRun<'_>, work: &TaskWork) -> Option<JournalEntry> {
    let spec = work.spec();
    if work.task.pinned.is_some() || spec.checks.is_empty() || spec.checks_may_change {
        return None;
    }
    let paths = pinnable(spec, &engine.run.asked);
    if paths.is_empty() {
        return None;
    }
    let names = paths.keys().map(String::as_str);
    let found = digests(&engine.settings.index, work.directory(&engine.run), names);
    Some(JournalEntry::Pin { task_id: work.task.id.clone(), files: baseline(&paths, &found) })
}

/// Why evidence is withheld although the checks passed: the task changed what they use.
pub(crate) fn changed(engine: &EngineRun<'_>, work: &TaskWork) -> Option<String> {
    let before = work.task.pinned.as_ref().filter(|files| !files.is_empty())?;
    let now = digests(&engine.settings.index, work.directory(&engine.run), before.keys().map(String::as_str));
    withheld(before, &now, WORK_BEGAN)
}
