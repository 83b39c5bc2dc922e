//! Shows a worklog as the store has it.

use contract::json::Value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Context;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
}

/// Every entry, oldest first.
pub fn show(cx: &mut Context, request: &Request) -> Result<Value> {
    let name = reference(&request.task)?;
    let tx = cx.store.read()?;
    let sheet = Sheet::of(&tx, &request.run)?;
    let lines = tx.worklog(&sheet.task(&name)?.id)?;
    let entries: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(&line.text).unwrap_or_default()).collect();
    Ok(json!({"run_id": sheet.run_uuid()?, "task_id": name, "entries": entries,
        "x_untrusted": contract::operator::untrusted(&["$.entries[*]"])}))
}
