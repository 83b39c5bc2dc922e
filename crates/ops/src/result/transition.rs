//! What a result does to its row.

use contract::domain::status::Status;
use contract::json::Map;
use contract::operator::{Blocker, Code, Delta, Outcome};
use serde_json::Value;

use super::Judged;
use crate::crew::ledger_state::LedgerState;
use crate::record::EventWriter;

/// The delta that a result makes of its row.
pub(super) fn delta(work: &EventWriter<'_, '_>, state: &LedgerState, judged: &Judged) -> Delta {
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

/// Why the worker is blocked.
pub(super) fn blocker(judged: &Judged) -> Blocker {
    let code = judged.result.extra.get("x_code").and_then(Value::as_str).and_then(Code::parse);
    let notes = judged.result.notes_for_orchestrator.join("; ");
    Blocker {
        task_id: judged.reference.clone(),
        code: code.filter(|code| *code != Code::Ok).unwrap_or(Code::MissingRequiredInput),
        reason: if notes.is_empty() { "the worker is blocked".to_owned() } else { notes },
        details: None,
        extra: Map::new(),
    }
}
