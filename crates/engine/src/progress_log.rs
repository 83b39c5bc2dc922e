//! Which progress of a task is written to the log: at most one report in half a minute, and always the newest.

use contract::aop::effective::PROGRESS_INTERVAL_MIN;
use contract::aop::event::ProgressUpdate;

use crate::dispatcher::millis;

/// What a task reported, as far as the log has it.
#[derive(Debug, Default)]
pub(crate) struct TaskProgressLog {
    /// When the last report was written, on the boot clock.
    written_ms: Option<i64>,
    /// The newest report that was not.
    newest: Option<ProgressUpdate>,
}

impl TaskProgressLog {
    /// Takes a report. It replaces one that was not written yet.
    pub(crate) fn push(&mut self, update: ProgressUpdate) {
        self.newest = Some(update);
    }

    /// When the newest report has to be written. `None` if it is.
    pub(crate) fn due_ms(&self) -> Option<i64> {
        self.newest.as_ref()?;
        let next = |written_ms: i64| written_ms.saturating_add(millis(PROGRESS_INTERVAL_MIN));
        Some(self.written_ms.map_or(i64::MIN, next))
    }

    /// The report to write now.
    pub(crate) fn due(&mut self, now_ms: i64) -> Option<ProgressUpdate> {
        if self.due_ms().is_some_and(|due_ms| due_ms <= now_ms) { self.last(now_ms) } else { None }
    }

    /// The report to write with the end of the attempt.
    pub(crate) fn last(&mut self, now_ms: i64) -> Option<ProgressUpdate> {
        let newest = self.newest.take()?;
        self.written_ms = Some(now_ms);
        Some(newest)
    }
}

#[cfg(test)]
mod tests {
    use contract::aop::event::Progress;

    use super::*;

    fn update(percentage: u64) -> ProgressUpdate {
        let progress = Progress {
            percentage,
            message: String::new(),
            current_phase: None,
            current_checkpoint: None,
            estimated_time_remaining_seconds: None,
            extensions: None,
        };
        ProgressUpdate { agent: "a".to_owned(), progress }
    }

    #[test]
    fn the_first_report_is_written_at_once_and_then_the_newest_of_each_interval() {
        let mut log = TaskProgressLog::default();
        let mut written = Vec::new();
        for second in 0..95 {
            let now_ms = second * 1000;
            log.push(update(u64::try_from(second).unwrap()));
            written.extend(log.due(now_ms).map(|update| (second, update.progress.percentage)));
        }
        assert_eq!(written, [(0, 0), (30, 30), (60, 60), (90, 90)]);
        assert_eq!(log.due_ms(), Some(120_000));
        assert_eq!(log.last(95_000), Some(update(94)), "the newest is never lost");
        assert_eq!((log.last(96_000), log.due_ms()), (None, None));
    }
}
