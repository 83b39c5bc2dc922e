//! Reading access tokens.

use contract::domain::id::Id;
use contract::domain::time::Timestamp;
use contract::domain::token::{Token, TokenId, TokenScope};
use rusqlite::{OptionalExtension, Row, params};

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Result, unreadable};

const COLUMNS: &str = "id, name, scope, hash, created_by, created_at, expires_at, last_used_at, revoked_at";

impl Tx<'_> {
    pub fn access_token(&self, id: &TokenId) -> Result<Option<Token>> {
        let sql = format!("SELECT {COLUMNS} FROM access_tokens WHERE id = ?1");
        let row = self.prepare(&sql)?.query_row([id.as_str()], |row| Ok(raw(row))).optional()?;
        row.transpose()
    }

    /// All tokens, revoked ones included, the oldest first.
    pub fn access_tokens(&self, limit: usize) -> Result<Vec<Token>> {
        let sql = format!("SELECT {COLUMNS} FROM access_tokens ORDER BY id LIMIT ?1");
        self.list(&sql, params![rows(limit)], raw)
    }
}

fn raw(row: &Row<'_>) -> Result<Token> {
    let (id, scope): (String, String) = (row.get(0)?, row.get(2)?);
    let at = |column| row.get::<_, Option<i64>>(column).map(|at| at.map(Timestamp::from_millis));
    Ok(Token {
        name: row.get(1)?,
        scope: TokenScope::parse(&scope).ok_or_else(|| unreadable("scope", &id, &scope))?,
        hash: row.get(3)?,
        created_by: row.get(4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
        expires_at: at(6)?,
        last_used_at: at(7)?,
        revoked_at: at(8)?,
        id: Id::parse(&id).map_err(|_| unreadable("id", &id, &id))?,
    })
}
