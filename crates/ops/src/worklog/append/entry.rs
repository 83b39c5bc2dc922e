//! The entry that a caller sends, completed and checked on its own.

use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::worklog::WorklogLine;
use contract::domain::time::Timestamp;
use contract::operator::{Code, Options, validate_worklog_entry};
use serde_json::{Value, json};

use crate::crew::denial::{denied, deny};
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::record::{EventWriter, scrubbed};

/// The entry with the fields that were missing, and without secrets.
pub(super) fn whole(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    name: &TaskRef,
    last: Option<&WorklogLine>,
    entry: Value,
) -> Result<Value> {
    let mut entry = scrubbed(entry);
    let run_id = state.run_uuid()?;
    let Some(fields) = entry.as_object_mut() else {
        return Err(deny(Code::SchemaInvalid, "not_an_object", "an entry must be an object"));
    };
    let last: Value = last.and_then(|last| serde_json::from_str(&last.text).ok()).unwrap_or_default();
    let latest =
        last["timestamp"].as_str().and_then(Timestamp::parse_utc).unwrap_or(Timestamp::from_millis(0));
    let fill = [
        ("timestamp", json!(work.now.at.max(latest))),
        ("run_id", json!(run_id)),
        ("task_id", json!(name)),
        ("actor", json!(work.caller.agent.as_str())),
    ];
    for (field, value) in fill {
        fields.entry(field).or_insert(value);
    }
    // Nobody writes under another name.
    let actor = work.caller.agent.as_str();
    if !fields["actor"].as_str().is_some_and(|said| said.eq_ignore_ascii_case(actor)) {
        let message = format!("actor must be `{actor}`, who writes the entry, or be left out");
        return Err(deny(Code::NonCompliant, "identity_mismatch", message));
    }
    let same =
        |field: &str, own: &str| fields[field].as_str().is_some_and(|said| said.eq_ignore_ascii_case(own));
    if !same("run_id", &run_id) || fields["task_id"] != name.as_str() {
        let message = format!("the entry belongs to another task than {name}");
        return Err(deny(Code::NonCompliant, "identity_mismatch", message));
    }
    Ok(entry)
}

/// Every field of the contract must be there; writ knows only who writes, when and about what.
pub(super) fn judge_entry(entry: &Value, strict: bool) -> Result<()> {
    let options = Options { strict, ..Options::default() };
    let verdict = validate_worklog_entry(entry.to_string().as_bytes(), &options);
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}
