//! Stored answers by request id, so that a retry is recognized and never executed twice.

use contract::digest;
use contract::domain::request::{Agent, RequestId};
use contract::domain::time::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::Tx;
use crate::conditions::rows;
use crate::error::{Error, Result, unreadable};

/// The stored answer of a request id.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAnswer {
    pub operation: String,
    pub fingerprint: String,
    /// `None` once the answer was pruned.
    pub answer: Option<Value>,
}

/// How a request id is kept: who repeats a call with its id gets its answer again, also a worker's token, so nobody may
/// read the id in a store or in an export.
pub(crate) fn kept_id(agent: &str, request: &str) -> String {
    digest::of_bytes(format!("{agent}\0{request}").as_bytes())
}

/// Whether this is the digest of an id and not an id.
pub(crate) fn is_digest(id: &str) -> bool {
    let digits = id.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

impl Tx<'_> {
    pub fn stored_answer(&self, agent: &Agent, request: &RequestId) -> Result<Option<StoredAnswer>> {
        let mut statement = self.prepare(
            "SELECT operation, fingerprint, answer FROM requests WHERE agent = ?1 AND request_id = ?2",
        )?;
        let mut find = |id: &str| {
            let fields = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            statement.query_row([agent.as_str(), id], fields).optional()
        };
        let kept = kept_id(agent.as_str(), request.as_str());
        let mut id = kept.as_str();
        let mut row: Option<(String, String, Option<String>)> = find(id)?;
        // Earlier versions kept ids as they are. Who read a digest somewhere does not know the id.
        if row.is_none() && !is_digest(request.as_str()) {
            id = request.as_str();
            row = find(id)?;
        }
        let Some((operation, fingerprint, answer)) = row else { return Ok(None) };
        if !self.is_sealed_answer(agent.as_str(), id)? {
            let message =
                format!("the answer of request `{}` is not the one that was stored", request.as_str());
            return Err(Error::Corrupt(message));
        }
        let answer = answer
            .map(|text| {
                serde_json::from_str(&text).map_err(|_| unreadable("answer", request.as_str(), &text))
            })
            .transpose()?;
        Ok(Some(StoredAnswer { operation, fingerprint, answer }))
    }

    /// Stores an answer under its key, for retries.
    pub fn keep_answer(
        &self,
        agent: &Agent,
        request: &RequestId,
        answered: &StoredAnswer,
        at: Timestamp,
    ) -> Result<()> {
        let answer = answered.answer.as_ref().map(Value::to_string);
        self.prepare(
            "INSERT INTO requests (agent, request_id, operation, fingerprint, answer, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            agent.as_str(),
            kept_id(agent.as_str(), request.as_str()),
            answered.operation,
            answered.fingerprint,
            answer,
            at.millis()
        ])?;
        Ok(())
    }

    /// How many answers were stored before `before`, counted up to `limit`.
    pub fn old_answers(&self, before: Timestamp, limit: usize) -> Result<u64> {
        let mut statement = self.prepare(
            "SELECT count(*) FROM (SELECT 1 FROM requests WHERE answer IS NOT NULL AND created_at < ?1 LIMIT ?2)",
        )?;
        let count: i64 = statement.query_row(params![before.millis(), rows(limit)], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Deletes answers stored before `before`, at most `limit` of them. Their rows stay as tombstones.
    pub fn forget_answers(&self, before: Timestamp, limit: usize) -> Result<usize> {
        let mut statement = self.prepare(
            "UPDATE requests SET answer = NULL WHERE (agent, request_id) IN (SELECT agent, request_id FROM requests
             WHERE answer IS NOT NULL AND created_at < ?1 ORDER BY created_at LIMIT ?2)",
        )?;
        Ok(statement.execute(params![before.millis(), rows(limit)])?)
    }
}
