//! Applies the changes of a crew to the tables.

use contract::domain::crew::lock::{Grant, place};
use contract::domain::crew::{AppliedDelta, CrewChange};
use contract::domain::run::RunId;
use contract::domain::time::Timestamp;
use rusqlite::params;

use super::json;
use crate::Tx;
use crate::error::{Error, Result, unreadable};

impl Tx<'_> {
    pub(super) fn project_crew(&self, change: &CrewChange, at: Timestamp) -> Result<()> {
        match change {
            CrewChange::RowWritten { run_id, ledger_version, delta, .. } => {
                self.row_written(change)?;
                self.ledger_moved(run_id, *ledger_version, delta.as_ref())
            }
            CrewChange::LocksGranted { grant } => self.locks_granted(grant, at),
            CrewChange::LocksReleased { token, reason, .. } => {
                let sql = "UPDATE locks SET active = 0, released_at = ?2, release_reason = ?3
                     WHERE token = ?1 AND active = 1";
                match self.prepare(sql)?.execute(params![token, at.millis(), reason])? {
                    0 => Err(Error::Unfit { rows: 0 }),
                    _ => Ok(()),
                }
            }
            CrewChange::AssignmentIssued { token, run_id, task_id, packet, token_hash } => self.change_one(
                "INSERT INTO assignments (token, run_id, task_id, packet, token_hash, issued_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![token, run_id.as_str(), task_id.as_str(), json(packet)?, token_hash, at.millis()],
            ),
            CrewChange::SnapshotTaken { token, snapshot, .. } => self.change_one(
                "UPDATE assignments SET snapshot = ?2 WHERE token = ?1",
                params![token, json(snapshot)?],
            ),
            CrewChange::AssignmentEnded { token, ended, .. } => self.change_one(
                "UPDATE assignments SET ended = ?2, ended_at = ?3 WHERE token = ?1 AND ended IS NULL",
                params![token, ended.as_str(), at.millis()],
            ),
            CrewChange::ResultAccepted { .. } => self.result_accepted(change, at),
            CrewChange::BlockerRaised { run_id, task_id, blocker } => self.change_one(
                "INSERT INTO blockers (task_id, run_id, blocker, raised_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (task_id) DO UPDATE SET blocker = excluded.blocker, raised_at = excluded.raised_at",
                params![task_id.as_str(), run_id.as_str(), json(blocker)?, at.millis()],
            ),
            CrewChange::BlockerCleared { task_id, .. } => {
                self.change_one("DELETE FROM blockers WHERE task_id = ?1", params![task_id.as_str()])
            }
            CrewChange::BudgetSet { .. }
            | CrewChange::BudgetReserved { .. }
            | CrewChange::BudgetBooked { .. }
            | CrewChange::BudgetSettled { .. } => self.project_budget(change),
            CrewChange::ApprovalRequested { .. }
            | CrewChange::ApprovalDecided { .. }
            | CrewChange::ApprovalUsed { .. } => self.project_approval(change, at),
            CrewChange::WorklogAppended { .. } => self.worklog_appended(change, at),
            CrewChange::HandoffTaken { .. } => self.handoff_taken(change, at),
        }
    }

    fn row_written(&self, change: &CrewChange) -> Result<()> {
        let CrewChange::RowWritten { run_id, task_id, reference, row, .. } = change else { return Ok(()) };
        self.change_one(
            "INSERT INTO ledger_rows (task_id, run_id, reference, row) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (task_id) DO UPDATE SET row = excluded.row",
            params![task_id.as_str(), run_id.as_str(), reference.as_str(), json(row)?],
        )
    }

    pub(super) fn ledger_moved(&self, run: &RunId, version: u64, delta: Option<&AppliedDelta>) -> Result<()> {
        let version = i64::try_from(version).map_err(|_| Error::Unfit { rows: 0 })?;
        self.change_one(
            "INSERT INTO ledgers (run_id, version) VALUES (?1, ?2)
             ON CONFLICT (run_id) DO UPDATE SET version = excluded.version",
            params![run.as_str(), version],
        )?;
        let Some(delta) = delta else { return Ok(()) };
        self.change_one(
            "INSERT INTO ledger_deltas (run_id, delta_id, digest) VALUES (?1, ?2, ?3)",
            params![run.as_str(), delta.delta_id, delta.digest],
        )
    }

    fn locks_granted(&self, grant: &Grant, at: Timestamp) -> Result<()> {
        let holder = grant.holder.as_ref().map(json).transpose()?;
        for wanted in &grant.scopes {
            let place = place(&grant.workspace, &wanted.scope)
                .map_err(|_| unreadable("scope", "a grant", wanted.scope.as_str()))?;
            self.change_one(
                "INSERT INTO locks (token, scope, run_id, task_id, reference, workspace, place, folded, mode, active,
                 timeout_ms, lease_boot_id, lease_until, granted_at, holder)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10, ?11, ?12, ?13, ?14)",
                params![
                    grant.token,
                    wanted.scope.as_str(),
                    grant.run_id.as_str(),
                    grant.task_id.as_str(),
                    grant.reference.as_str(),
                    grant.workspace,
                    place.as_str(),
                    place.folded().as_str(),
                    wanted.mode.as_str(),
                    i64::try_from(grant.timeout_ms).unwrap_or(i64::MAX),
                    grant.lease.boot_id,
                    grant.lease.until_millis,
                    at.millis(),
                    holder
                ],
            )?;
        }
        Ok(())
    }

    fn result_accepted(&self, change: &CrewChange, at: Timestamp) -> Result<()> {
        let CrewChange::ResultAccepted { token, run_id, task_id, status, result, checks, changes } = change
        else {
            return Ok(());
        };
        let changes = changes.as_ref().map(json).transpose()?;
        self.change_one(
            "INSERT INTO results (token, run_id, task_id, status, result, checks, changes, accepted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                token,
                run_id.as_str(),
                task_id.as_str(),
                status,
                json(result)?,
                json(checks)?,
                changes,
                at.millis()
            ],
        )
    }

    fn project_budget(&self, change: &CrewChange) -> Result<()> {
        match change {
            CrewChange::BudgetSet { run_id, limit } => self.change_one(
                "INSERT INTO budgets (run_id, cost_limit, tokens_limit) VALUES (?1, ?2, ?3)
                 ON CONFLICT (run_id) DO UPDATE SET cost_limit = excluded.cost_limit,
                 tokens_limit = excluded.tokens_limit",
                params![run_id.as_str(), limit.cost.0, limit.tokens],
            ),
            CrewChange::BudgetReserved { token, run_id, task_id, amount } => {
                self.change_one(
                    "INSERT INTO reservations (token, run_id, task_id, cost, tokens, is_open)
                     VALUES (?1, ?2, ?3, ?4, ?5, 1)",
                    params![token, run_id.as_str(), task_id.as_str(), amount.cost.0, amount.tokens],
                )?;
                self.change_one(
                    "UPDATE budgets SET cost_reserved = cost_reserved + ?2, tokens_reserved = tokens_reserved + ?3
                     WHERE run_id = ?1",
                    params![run_id.as_str(), amount.cost.0, amount.tokens],
                )
            }
            CrewChange::BudgetBooked { token, run_id, reserved, spent, withheld, .. } => {
                self.change_one(
                    "UPDATE reservations SET is_open = 0, cost_spent = ?2, tokens_spent = ?3, cost_withheld = ?4,
                     tokens_withheld = ?5 WHERE token = ?1 AND is_open = 1",
                    params![token, spent.cost.0, spent.tokens, withheld.cost.0, withheld.tokens],
                )?;
                self.change_one(
                    "UPDATE budgets SET cost_reserved = cost_reserved - ?2, tokens_reserved = tokens_reserved - ?3,
                     cost_spent = cost_spent + ?4, tokens_spent = tokens_spent + ?5,
                     cost_withheld = cost_withheld + ?6, tokens_withheld = tokens_withheld + ?7 WHERE run_id = ?1",
                    params![
                        run_id.as_str(),
                        reserved.cost.0,
                        reserved.tokens,
                        spent.cost.0,
                        spent.tokens,
                        withheld.cost.0,
                        withheld.tokens
                    ],
                )
            }
            CrewChange::BudgetSettled { token, run_id, withheld, spent, .. } => {
                self.change_one(
                    "UPDATE reservations SET cost_spent = cost_spent + ?2, tokens_spent = tokens_spent + ?3,
                     cost_withheld = cost_withheld - ?4, tokens_withheld = tokens_withheld - ?5
                     WHERE token = ?1 AND is_open = 0 AND cost_withheld >= ?4 AND tokens_withheld >= ?5",
                    params![token, spent.cost.0, spent.tokens, withheld.cost.0, withheld.tokens],
                )?;
                self.change_one(
                    "UPDATE budgets SET cost_spent = cost_spent + ?2, tokens_spent = tokens_spent + ?3,
                     cost_withheld = cost_withheld - ?4, tokens_withheld = tokens_withheld - ?5 WHERE run_id = ?1",
                    params![run_id.as_str(), spent.cost.0, spent.tokens, withheld.cost.0, withheld.tokens],
                )
            }
            _ => Ok(()),
        }
    }

    fn project_approval(&self, change: &CrewChange, at: Timestamp) -> Result<()> {
        match change {
            CrewChange::ApprovalRequested { approval } => self.change_one(
                "INSERT INTO approvals (id, run_id, task_id, state, asked, requested_at)
                 VALUES (?1, ?2, ?3, 'pending', ?4, ?5)",
                params![
                    approval.id.as_str(),
                    approval.run_id.as_str(),
                    approval.task_id.as_str(),
                    json(approval)?,
                    at.millis()
                ],
            ),
            CrewChange::ApprovalDecided { id, granted, by, reason, .. } => {
                let state = if *granted { "granted" } else { "denied" };
                // A granted approval may still be denied when it expires; a denied one stays denied.
                self.change_one(
                    "UPDATE approvals SET state = ?2, decided_by = ?3, reason = ?4
                     WHERE id = ?1 AND (state = 'pending' OR (state = 'granted' AND ?2 = 'denied'))",
                    params![id.as_str(), state, by, reason],
                )
            }
            CrewChange::ApprovalUsed { id, token, .. } => self.change_one(
                "UPDATE approvals SET state = 'used', used_by = ?2 WHERE id = ?1 AND state = 'granted'",
                params![id.as_str(), token],
            ),
            _ => Ok(()),
        }
    }
}
