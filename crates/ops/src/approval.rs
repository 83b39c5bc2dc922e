//! Approvals: a task that needs a person's word is given out only with it, once, in time, and as it was shown.

use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{Approval, ApprovalId, ApprovalState, Filed, NotApproved};
use contract::domain::id::{Id, mint};
use contract::domain::limits;
use contract::domain::time::{Lease, Now};
use contract::operator::Code;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Tx;

use crate::context::{Context, Key};
use crate::crew::conditions::action_digest;
use crate::crew::denial::deny;
use crate::crew::rows::about;
use crate::crew::sheet::{Sheet, find_run, reference};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;

/// A question that nobody answers for this long is answered with no.
const DEADLINE_DEFAULT: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// What would be done, for the person who decides; the task's title where nothing is said.
    #[serde(default)]
    pub action: Option<String>,
    #[serde(default)]
    pub deadline_seconds: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decision {
    pub id: String,
    pub granted: bool,
    #[serde(default)]
    pub reason: Option<String>,
}

/// Asks for the word. From now on the task is not given out without it.
pub fn request(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Filed>> {
    let name = reference(&request.task)?;
    let said = request.action.as_deref().map(|text| crate::task::bounded("the action", text)).transpose()?;
    let length = request.deadline_seconds.map_or(DEADLINE_DEFAULT, Duration::from_secs);
    let length = length.min(limits::TASK_TIMEOUT_MAX);
    cx.once(key, "approval.request", request, |work| {
        let sheet = Sheet::of(work.tx, &request.run)?;
        let task = sheet.task(&name)?;
        let action = said.map_or_else(|| format!("give out {name}: {}", task.title), str::to_owned);
        let approval = Approval {
            id: mint(work.ids, work.now.at),
            run_id: sheet.run.asked.id.clone(),
            task_id: task.id.clone(),
            action: contract::secrets::scrub(&action).into_owned(),
            action_digest: action_digest(&sheet, &name)?,
            requested_by: work.caller.entity.clone(),
            deadline: work.now.at.plus(length),
            lease: Lease::starting(work.now, length),
        };
        let (id, message) = (approval.id.clone(), format!("Approval asked: {}", approval.action));
        let change = CrewChange::ApprovalRequested { approval };
        work.change(&about(&sheet, task), &message, &Change::Crew(change))?;
        filed(work, &id)
    })
}

/// Grants or denies a request, once. A request past its deadline is denied.
pub fn decide(cx: &mut Context, key: &Key, decision: &Decision) -> Result<Reply<Filed>> {
    let reason = crate::task::reason(decision.reason.as_deref())?;
    let id: ApprovalId = Id::parse(&decision.id).map_err(|_| Error::not_found("approval", &decision.id))?;
    cx.once(key, "approval.decide", decision, |work| {
        let known = filed(work, &id)?;
        refuse_own_word(&known, decision, &work.caller.entity)?;
        known.decide(work.now).map_err(|fault| refused(&known, fault))?;
        let task = crate::task::required(work.tx, known.asked.task_id.as_str())?;
        let change = CrewChange::ApprovalDecided {
            id: id.clone(),
            run_id: known.asked.run_id.clone(),
            task_id: known.asked.task_id.clone(),
            granted: decision.granted,
            by: work.caller.entity.clone(),
            reason,
        };
        let word = if decision.granted { "granted" } else { "denied" };
        let about = crate::task::about(work.tx, &task)?;
        work.change(&about, &format!("Approval {word}: {}", known.asked.action), &Change::Crew(change))?;
        filed(work, &id)
    })
}

/// What was asked in a run, or what waits for a word anywhere. What has run out is shown as denied.
pub fn list(cx: &mut Context, run: Option<&str>) -> Result<Vec<Filed>> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let found = match run {
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
    Ok(found.into_iter().map(shown).collect())
}

/// Whether the time of a question has run out.
pub(crate) fn has_expired(tx: &Tx<'_>, now: &Now) -> Result<bool> {
    for state in [ApprovalState::Pending, ApprovalState::Granted] {
        if tx.approvals_in(state, limits::LIST_ROWS_MAX)?.iter().any(|filed| filed.has_expired(now)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes down the no of questions whose time has run out.
pub(crate) fn deny_expired(work: &mut EventWriter<'_, '_>) -> Result<Vec<String>> {
    let mut denied = Vec::new();
    for state in [ApprovalState::Pending, ApprovalState::Granted] {
        for filed in work.tx.approvals_in(state, limits::LIST_ROWS_MAX)? {
            if !filed.has_expired(work.now) {
                continue;
            }
            let task = crate::task::required(work.tx, filed.asked.task_id.as_str())?;
            let change = CrewChange::ApprovalDecided {
                id: filed.asked.id.clone(),
                run_id: filed.asked.run_id.clone(),
                task_id: filed.asked.task_id.clone(),
                granted: false,
                by: work.caller.entity.clone(),
                reason: Some(NotApproved::Expired.to_string()),
            };
            let about = crate::task::about(work.tx, &task)?;
            work.change(&about, &format!("Approval expired: {}", filed.asked.action), &Change::Crew(change))?;
            denied.push(filed.asked.id.to_string());
        }
    }
    Ok(denied)
}

/// An agent that asks may take its question back, but not answer it with yes.
fn refuse_own_word(known: &Filed, decision: &Decision, caller: &str) -> Result<()> {
    if !decision.granted || known.asked.requested_by != caller || !caller.starts_with("agent.") {
        return Ok(());
    }
    let id = &known.asked.id;
    Err(Error::new(ErrorCode::Denied, format!("approval {id} was asked for by {caller} itself"))
        .details(json!({"rule": "approval_own_word", "path": "$.id", "requested_by": caller}))
        .hint(format!("a person or another agent says yes with `writ approval grant {id}`")))
}

fn filed(work: &EventWriter<'_, '_>, id: &ApprovalId) -> Result<Filed> {
    work.tx.approval(id)?.ok_or_else(|| Error::not_found("approval", id.as_str()))
}

fn refused(known: &Filed, fault: NotApproved) -> Error {
    deny(Code::NonCompliant, fault.rule(), format!("approval {}: {fault}", known.asked.id))
}
