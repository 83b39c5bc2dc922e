//! Reads budgets and reservations.

use contract::domain::crew::budget::{Amount, Delegated, Purse};
use contract::domain::id::Id;
use contract::domain::money::MicroUsd;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use rusqlite::OptionalExtension;

use crate::Tx;
use crate::error::{Result, unreadable};

/// A reserved part of a run's budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub token: i64,
    /// The run whose budget it belongs to.
    pub run_id: RunId,
    pub amount: Amount,
}

impl Tx<'_> {
    /// The budget of a run; `None` if it has no limit.
    pub fn purse(&self, run: &RunId) -> Result<Option<Purse>> {
        let mut statement = self.prepare(
            "SELECT cost_limit, tokens_limit, cost_reserved, tokens_reserved, cost_spent, tokens_spent, cost_withheld,
             tokens_withheld FROM budgets WHERE run_id = ?1",
        )?;
        let found = statement.query_row([run.as_str()], |row| {
            let amount = |at: usize| -> rusqlite::Result<Amount> {
                Ok(Amount { cost: MicroUsd(row.get(at)?), tokens: row.get(at + 1)? })
            };
            Ok(Purse { limit: amount(0)?, reserved: amount(2)?, spent: amount(4)?, withheld: amount(6)? })
        });
        Ok(found.optional()?)
    }

    /// What the runs that a task started use of their budgets. They have the correlation of the task's own run.
    pub fn delegated(&self, corr: &str, task: &TaskId) -> Result<Delegated> {
        let mut statement = self.prepare(
            "SELECT COALESCE(SUM(cost_reserved), 0), COALESCE(SUM(tokens_reserved), 0), COALESCE(SUM(cost_spent), 0),
             COALESCE(SUM(tokens_spent), 0), COALESCE(SUM(cost_withheld), 0), COALESCE(SUM(tokens_withheld), 0)
             FROM runs JOIN budgets ON budgets.run_id = runs.id
             WHERE runs.corr = ?1 AND runs.asked ->> 'parent_task' = ?2",
        )?;
        Ok(statement.query_row([corr, task.as_str()], |row| {
            let amount = |at: usize| -> rusqlite::Result<Amount> {
                Ok(Amount { cost: MicroUsd(row.get(at)?), tokens: row.get(at + 1)? })
            };
            Ok(Delegated { reserved: amount(0)?, spent: amount(2)?, withheld: amount(4)? })
        })?)
    }

    /// What is spent and withheld for a task in the budget of a run.
    pub fn booked(&self, run: &RunId, task: &TaskId) -> Result<Amount> {
        let mut statement = self.prepare(
            "SELECT COALESCE(SUM(cost_spent + cost_withheld), 0), COALESCE(SUM(tokens_spent + tokens_withheld), 0)
             FROM reservations WHERE task_id = ?1 AND run_id = ?2",
        )?;
        let amount =
            |row: &rusqlite::Row<'_>| Ok(Amount { cost: MicroUsd(row.get(0)?), tokens: row.get(1)? });
        Ok(statement.query_row([task.as_str(), run.as_str()], amount)?)
    }

    /// The reservations for a task that have not ended, in its own run and in its parent runs.
    pub fn open_reservations(&self, task: &TaskId) -> Result<Vec<Reservation>> {
        self.reservations(
            task,
            "SELECT token, run_id, cost, tokens FROM reservations WHERE task_id = ?1 AND is_open = 1
             ORDER BY token",
        )
    }

    /// The parts of ended reservations that are withheld for a task, in its own run and in its parent runs.
    pub fn withheld_reservations(&self, task: &TaskId) -> Result<Vec<Reservation>> {
        self.reservations(
            task,
            "SELECT token, run_id, cost_withheld, tokens_withheld FROM reservations
             WHERE task_id = ?1 AND (cost_withheld <> 0 OR tokens_withheld <> 0) ORDER BY token",
        )
    }

    fn reservations(&self, task: &TaskId, sql: &str) -> Result<Vec<Reservation>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([task.as_str()])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let run: String = row.get(1)?;
            found.push(Reservation {
                token: row.get(0)?,
                run_id: Id::parse(&run).map_err(|_| unreadable("run", task.as_str(), &run))?,
                amount: Amount { cost: MicroUsd(row.get(2)?), tokens: row.get(3)? },
            });
        }
        Ok(found)
    }
}
