//! Reading worklogs.

use contract::domain::crew::worklog::WorklogLine;
use contract::domain::task::TaskId;
use rusqlite::{OptionalExtension, Row};

use crate::Tx;
use crate::error::Result;

/// The last line of a worklog, and the worklog's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorklogEnd {
    pub line: WorklogLine,
    pub bytes: i64,
    /// The token under which the line was written; `None` if no worker held the task.
    pub token: Option<i64>,
}

impl Tx<'_> {
    pub fn worklog_end(&self, task: &TaskId) -> Result<Option<WorklogEnd>> {
        let sql = "SELECT number, line, digest, bytes, token FROM worklog_lines WHERE task_id = ?1
                   ORDER BY number DESC LIMIT 1";
        let end =
            |row: &Row<'_>| Ok(WorklogEnd { line: line_of(row)?, bytes: row.get(3)?, token: row.get(4)? });
        Ok(self.prepare(sql)?.query_row([task.as_str()], end).optional()?)
    }

    /// The token under which each line of a worklog was written, in the order of the lines.
    pub fn worklog_tokens(&self, task: &TaskId) -> Result<Vec<Option<i64>>> {
        let sql = "SELECT token FROM worklog_lines WHERE task_id = ?1 ORDER BY number";
        let mut statement = self.prepare(sql)?;
        let tokens = statement.query_map([task.as_str()], |row| row.get(0))?;
        Ok(tokens.collect::<rusqlite::Result<Vec<Option<i64>>>>()?)
    }

    /// The whole worklog of a task; its total size is limited.
    pub fn worklog(&self, task: &TaskId) -> Result<Vec<WorklogLine>> {
        let sql = "SELECT number, line, digest FROM worklog_lines WHERE task_id = ?1 ORDER BY number";
        let mut statement = self.prepare(sql)?;
        let lines = statement.query_map([task.as_str()], line_of)?;
        Ok(lines.collect::<rusqlite::Result<Vec<WorklogLine>>>()?)
    }
}

fn line_of(row: &Row<'_>) -> rusqlite::Result<WorklogLine> {
    Ok(WorklogLine { number: row.get(0)?, text: row.get(1)?, digest: row.get(2)? })
}
