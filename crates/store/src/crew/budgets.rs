//! What runs may spend and have spent.

use contract::domain::crew::budget::{Amount, Purse};
use contract::domain::money::MicroUsd;
use contract::domain::run::RunId;
use rusqlite::OptionalExtension;

use crate::Tx;
use crate::error::Result;

impl Tx<'_> {
    /// The books of a run; none where nobody set a limit.
    pub fn purse(&self, run: &RunId) -> Result<Option<Purse>> {
        let mut statement = self.prepare(
            "SELECT cost_limit, tokens_limit, cost_reserved, tokens_reserved, cost_spent, tokens_spent
             FROM budgets WHERE run_id = ?1",
        )?;
        let found = statement.query_row([run.as_str()], |row| {
            let amount = |at: usize| -> rusqlite::Result<Amount> {
                Ok(Amount { cost: MicroUsd(row.get(at)?), tokens: row.get(at + 1)? })
            };
            Ok(Purse { limit: amount(0)?, reserved: amount(2)?, spent: amount(4)? })
        });
        Ok(found.optional()?)
    }

    /// What is reserved under a token and not booked yet.
    pub fn open_reservation(&self, token: i64) -> Result<Option<Amount>> {
        let mut statement =
            self.prepare("SELECT cost, tokens FROM reservations WHERE token = ?1 AND is_open = 1")?;
        let found = statement
            .query_row([token], |row| Ok(Amount { cost: MicroUsd(row.get(0)?), tokens: row.get(1)? }));
        Ok(found.optional()?)
    }
}
