//! Why a result that reports done is refused.

use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::outside::Outside;
use contract::operator::Code;
use serde_json::{Value, json};

use crate::crew::denial::{denied, verdict};
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::host::HostView;
use crate::record::{EventWriter, scrubbed};
use crate::result::JudgedResult;

/// Refuses done if a file that the author forbids was changed.
pub(super) fn refuse_forbidden(outside: Option<&Outside>) -> Result<()> {
    let Some((outside, message)) = outside.and_then(|outside| Some((outside, outside.refusal()?))) else {
        return Ok(());
    };
    let mut refusal = verdict(Code::ScopeViolation, "in_forbidden_scope", message);
    refusal.details.more.insert("outside".to_owned(), scrubbed(json!(outside)));
    Err(denied(&refusal))
}

pub(super) fn failed_checks(seen: &[CheckSeen]) -> crate::Error {
    let message = first_failed(seen).map(CheckSeen::fault);
    let message = message.unwrap_or_else(|| "the task has checks that writ has not run".to_owned());
    let mut refusal = verdict(Code::AcceptanceFailed, "criterion_failed", message);
    refusal.details.more.insert("checks".to_owned(), scrubbed(json!(seen)));
    denied(&refusal)
}

/// A task does not enter done while what is written about it contradicts itself.
pub(super) fn refuse_contradiction(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &JudgedResult,
    view: &HostView,
) -> Result<()> {
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let verdict = state.reconcile(work.tx, work.now, fold)?;
    let issues = verdict.details.more.get("issues").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = issues.iter().any(|issue| issue["task_id"] == judged.reference.as_str());
    if own { Err(denied(&verdict)) } else { Ok(()) }
}
