//! Applies what providers refuse, and which tasks wait for it.

use contract::domain::change::Change;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// Applies a limit window, its end, or a task that begins or ends to wait for one.
    pub(super) fn project_limit(&self, change: &Change, at: Timestamp) -> Result<()> {
        match change {
            Change::LimitWindowSet { window } => self.change_one(
                "INSERT INTO limit_windows (resource, until, limit_window) VALUES (?1, ?2, ?3)
                 ON CONFLICT (resource) DO UPDATE SET until = excluded.until, limit_window = excluded.limit_window",
                params![window.resource, window.reset.at.millis(), json(window)?],
            ),
            Change::LimitWindowEnded { resource, .. } => {
                self.prepare("DELETE FROM limit_waiters WHERE resource = ?1")?.execute([resource])?;
                self.change_one("DELETE FROM limit_windows WHERE resource = ?1", params![resource])
            }
            Change::TaskWaitsForLimit { task_id, resource } => self.change_one(
                "INSERT INTO limit_waiters (task_id, resource, since) VALUES (?1, ?2, ?3)
                 ON CONFLICT (task_id) DO UPDATE SET resource = excluded.resource, since = excluded.since",
                params![task_id.as_str(), resource, at.millis()],
            ),
            Change::TaskLimitWaitEnded { task_id } => {
                self.change_one("DELETE FROM limit_waiters WHERE task_id = ?1", params![task_id.as_str()])
            }
            _ => Ok(()),
        }
    }
}
