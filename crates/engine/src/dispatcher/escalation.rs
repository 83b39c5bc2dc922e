//! Priorities that change while the run is worked.

use std::collections::BTreeMap;

use contract::domain::priority::Priority;
use ops::Result;
use ops::run::priorities;

use super::Dispatcher;

impl Dispatcher<'_> {
    /// Brings the board to the priorities in the store, which may have changed since the tasks were read.
    pub(super) fn look_at_priorities(&mut self) -> Result<()> {
        let (seen, priorities) = priorities::all(self.engine.cx, &self.engine.run.asked.id)?;
        self.priorities_seen = seen;
        let priorities: BTreeMap<String, i64> = priorities.into_iter().collect();
        for work in self.tasks.iter_mut() {
            if let Some(&number) = priorities.get(work.task.id.as_str()) {
                work.task.priority = number;
                self.board.set_priority(work.index, Priority::from_number(number));
            }
        }
        Ok(())
    }

    /// Applies changes of priority since the last look to the queue. What runs is not interrupted. Returns whether there
    /// was a change.
    pub(super) fn hear_escalations(&mut self) -> Result<bool> {
        let changes = priorities::changed(self.engine.cx, self.priorities_seen)?;
        let is_changed = !changes.is_empty();
        for change in changes {
            self.priorities_seen = change.event;
            let task = change.task.and_then(|id| self.tasks.position(&id));
            if let Some(task) = task {
                self.refresh(task)?;
            }
        }
        Ok(is_changed)
    }
}
