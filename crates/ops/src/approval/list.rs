//! Lists approvals.

use contract::domain::crew::approval::{ApprovalState, Filed, NotApproved};
use contract::domain::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::crew::ledger_state::find_run;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "approval.list";
    const COMMAND: &'static str = "approval list";
    const SUMMARY: &'static str = "List pending approvals, or all approvals of a run";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// All approvals of this run. Default: the pending ones of every run.
    #[serde(default)]
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub approvals: Vec<Filed>,
    pub count: usize,
}

/// An expired approval is shown as denied.
pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let found = match &request.run {
        Some(run) => tx.approvals_of_run(&find_run(&tx, run)?.asked.id, limits::LIST_ROWS_MAX)?,
        None => tx.approvals_in(ApprovalState::Pending, limits::LIST_ROWS_MAX)?,
    };
    let shown = |mut filed: Filed| {
        let is_open = matches!(filed.state, ApprovalState::Pending | ApprovalState::Granted);
        if is_open && filed.has_expired(&now) {
            filed.state = ApprovalState::Denied;
            filed.reason = Some(NotApproved::Expired.to_string());
        }
        filed
    };
    let approvals: Vec<Filed> = found.into_iter().map(shown).collect();
    Ok(Answer { count: approvals.len(), approvals })
}
