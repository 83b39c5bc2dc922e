//! What a result does to its row.

use contract::domain::crew::worklog::WorklogLine;
use contract::domain::status::Status;
use contract::json::Map;
use contract::operator::{Blocker, Code, Delta, Outcome};
use serde_json::Value;

use super::JudgedResult;
use crate::crew::ledger_state::LedgerState;
use crate::record::EventWriter;

/// The delta that a result makes of its row.
pub(super) fn delta(work: &EventWriter<'_, '_>, state: &LedgerState, judged: &JudgedResult) -> Delta {
    let status = match judged.result.status {
        Outcome::Done => Status::Done,
        Outcome::Blocked => Status::Blocked,
        Outcome::Failed => Status::Failed,
    };
    let notes = judged.result.notes_for_orchestrator.join("; ");
    let reason = if notes.is_empty() { format!("the worker reported {status}") } else { notes };
    Delta {
        owner: state.ledger.rows.get(&judged.reference).map(|row| row.owner.clone()).unwrap_or_default(),
        reason,
        delta_id: format!("writ:result:{}", judged.issued.token),
        last_heartbeat_at: Some(work.now.at.to_string()),
        ..Delta::blank(judged.reference.clone(), status)
    }
}

/// Why the worker is blocked: its notes, and the code and the next step of the last entry in its worklog.
pub(super) fn blocker(judged: &JudgedResult, last: Option<&WorklogLine>) -> Blocker {
    let last: Value = last.and_then(|last| serde_json::from_str(&last.text).ok()).unwrap_or_default();
    let said = judged.result.extra.get("x_code").unwrap_or(&last["code"]);
    let code = said.as_str().and_then(Code::parse).filter(|code| *code != Code::Ok);
    let notes = judged.result.notes_for_orchestrator.join("; ");
    let next = last.get("next_step").map(|next| Map::from_iter([("next_step".to_owned(), next.clone())]));
    Blocker {
        task_id: judged.reference.clone(),
        code: code.unwrap_or(Code::MissingRequiredInput),
        reason: if notes.is_empty() { "the worker is blocked".to_owned() } else { notes },
        details: next,
        extra: Map::new(),
    }
}
