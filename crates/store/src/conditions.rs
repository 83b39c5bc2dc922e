//! Builds the conditions of a query.

use rusqlite::types::Value;

#[derive(Default)]
pub(crate) struct Conditions {
    texts: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Adds a condition such as `status =` with its value.
    pub(crate) fn and(&mut self, beginning: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.texts.push(format!("{beginning} ?{}", self.values.len()));
    }

    /// Adds a condition without a value.
    pub(crate) fn hold(&mut self, condition: &str) {
        self.texts.push(condition.to_owned());
    }

    /// The whole statement. The limit is the last value.
    pub(crate) fn statement(&mut self, select: &str, order: &str, limit: usize) -> String {
        let narrowed = match self.texts.as_slice() {
            [] => String::new(),
            texts => format!(" WHERE {}", texts.join(" AND ")),
        };
        self.values.push(rows(limit).into());
        format!("{select}{narrowed} ORDER BY {order} LIMIT ?{}", self.values.len())
    }
}

/// A number of rows as an SQL integer.
pub(crate) fn rows(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
