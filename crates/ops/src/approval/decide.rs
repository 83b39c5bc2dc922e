//! Grants or denies an approval.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{Approval, ApprovalId, Filed, NotApproved};
use contract::domain::id::Id;
use contract::domain::principal::Action;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filed;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Decide;

impl Verb for Decide {
    const NAME: &'static str = "approval.decide";
    const COMMAND: &'static str = "approval grant";
    const SUMMARY: &'static str = "Grant or deny an approval";
    const SURFACE: Surface = Surface::Crew;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Filed;
    const FUNCTION: Function<Self> = Function::Once(decide);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The approval.
    pub id: String,
    /// `true` grants it for one use, `false` denies it.
    pub granted: bool,
    /// Why, for the log.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Decides a request, or takes back a grant that was not used. A request past its deadline is denied already.
pub fn decide(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Filed>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let id: ApprovalId = Id::parse(&request.id).map_err(|_| Error::not_found("approval", &request.id))?;
    let prepare = |cx: &mut Context| {
        let known = cx.store.read()?.approval(&id)?;
        let known = known.ok_or_else(|| Error::not_found("approval", id.as_str()))?;
        // Ask only about an open approval.
        known.decide(request.granted, &cx.clock.now()).map_err(|fault| refused(&known, fault))?;
        cx.decision(session, action(&known, request))
    };
    cx.decide_once(session, (Decide::NAME, request), prepare, |work, decision| {
        let known = filed(work, &id)?;
        let work = &mut decision.act(work, &action(&known, request))?;
        known.decide(request.granted, work.now).map_err(|fault| refused(&known, fault))?;
        let task = crate::task::required(work.tx, known.asked.task_id.as_str())?;
        let change = CrewChange::ApprovalDecided {
            id: id.clone(),
            run_id: known.asked.run_id.clone(),
            task_id: known.asked.task_id.clone(),
            granted: request.granted,
            by: work.caller.entity.clone(),
            reason,
        };
        let word = if request.granted { "granted" } else { "denied" };
        let about = crate::task::about(work.tx, &task)?;
        work.change(&about, &format!("Approval {word}: {}", known.asked.action), &Change::Crew(change))?;
        filed(work, &id)
    })
}

/// What a person decides: one approval, with everything that it permits.
fn action(known: &Filed, request: &Request) -> Action {
    let word = if request.granted { "Grant, for one use," } else { "Deny" };
    let Approval { id, run_id, task_id, action, action_digest, requested_by, .. } = &known.asked;
    let question = format!(
        "{word} {id}: {action}\nrequested by {requested_by} for {task_id} of {run_id}\naction {action_digest}"
    );
    Action::new(Decide::NAME, question)
}

fn refused(known: &Filed, fault: NotApproved) -> Error {
    deny(Code::NonCompliant, fault.rule(), format!("approval {}: {fault}", known.asked.id))
}
