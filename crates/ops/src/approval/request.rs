//! Requests an approval.

use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{Approval, Filed};
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::time::Lease;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filed;
use crate::context::{Context, Session};
use crate::crew::conditions::action_digest;
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::rows::about;
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

/// A request that is not decided in this time is denied.
const DEADLINE_DEFAULT: Duration = Duration::from_hours(1);

pub struct RequestApproval;

impl Verb for RequestApproval {
    const NAME: &'static str = "approval.request";
    const COMMAND: &'static str = "approval request";
    const SUMMARY: &'static str = "Request an approval for a task";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Filed;
    const FUNCTION: Function<Self> = Function::Once(request);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// What is to be approved, for the person who decides. Default: assigning the task, by its title.
    #[serde(default)]
    pub action: Option<String>,
    /// After this time without a decision, the request is denied. Default: one hour.
    #[serde(default)]
    pub deadline_seconds: Option<u64>,
}

/// From now on the task cannot be assigned without the approval. The same action of the same task is answered with the
/// approval that is open for it.
pub fn request(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Filed>> {
    let name = reference(&request.task)?;
    let action = request.action.as_deref().map(|text| crate::task::bounded("action", text)).transpose()?;
    let length = request.deadline_seconds.map_or(DEADLINE_DEFAULT, Duration::from_secs);
    let length = length.min(limits::TASK_TIMEOUT_MAX);
    cx.once(session, RequestApproval::NAME, request, |work| {
        let state = LedgerState::of(work.tx, &request.run)?;
        let task = state.task(&name)?;
        let action = action.map_or_else(|| format!("assign {name}: {}", task.title), str::to_owned);
        let action = contract::secrets::scrub(&action).into_owned();
        let action_digest = action_digest(&state, &name)?;
        let asked = work.tx.approvals_of_task(&task.id)?;
        let same = |filed: &&Filed| {
            let asked = &filed.asked;
            asked.action == action && asked.action_digest == action_digest && filed.is_open(work.now)
        };
        if let Some(open) = asked.iter().rfind(same) {
            return Ok(open.clone());
        }
        let approval = Approval {
            id: mint(work.ids, work.now.at),
            run_id: state.run.asked.id.clone(),
            task_id: task.id.clone(),
            action,
            action_digest,
            requested_by: work.caller.entity.clone(),
            deadline: work.now.at.plus(length),
            lease: Lease::starting(work.now, length),
        };
        let (id, message) = (approval.id.clone(), format!("Approval requested: {}", approval.action));
        let change = CrewChange::ApprovalRequested { approval };
        work.change(&about(&state, task), &message, &Change::Crew(change))?;
        filed(work, &id)
    })
}
