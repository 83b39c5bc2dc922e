//! Accepts a result: moves the row, releases the locks, books the budget, and grants done only after the checks.

mod changes;
mod refusals;

use contract::domain::change::Change;
use contract::domain::check::CheckSeen;
use contract::domain::crew::budget::Spent;
use contract::domain::crew::snapshot::SnapshotChanges;
use contract::domain::crew::token::LockToken;
use contract::domain::crew::{CrewChange, Ended};
use contract::domain::money::MicroUsd;
use contract::domain::outside::Outside;
use contract::domain::pins::together;
use contract::domain::request::Agent;
use contract::domain::status::{Evidence, Status};
use contract::operator::{Code, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::observe::observe;
use super::transition::{blocker, delta};
use super::{JudgedResult, Observation, Sent, judged, state_of};
use crate::assignment::snapshot::watch_name;
use crate::context::{Context, Session};
use crate::crew::blockers::settle_blocker;
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::crew::rows::{self, TransitionContext};
use crate::crew::token;
use crate::error::Result;
use crate::once::Reply;
use crate::record::{EventWriter, scrubbed};
use crate::verb::{Function, Surface, Verb};
use changes::seen_changes;
use refusals::{failed_checks, refuse_contradiction, refuse_forbidden};

pub struct Submit;

impl Verb for Submit {
    const NAME: &'static str = "result.submit";
    const COMMAND: &'static str = "result submit";
    const SUMMARY: &'static str = "Submit a worker's result; done is granted after writ ran the checks";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(submit);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The worker's result, a document of the operator contract.
    pub document: Value,
    /// The token of the assignment. Default: the document's `x_token`.
    #[serde(default)]
    pub token: Option<LockToken>,
    /// What the worker spent, in micro-USD. Without it, the reserved money is withheld until it is settled.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
    /// The same for tokens.
    #[serde(default)]
    pub tokens: Option<i64>,
    /// Refuse unknown fields without `x_`, and require a worklog of a task that is done too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

impl Request {
    pub(super) fn sent(&self) -> Sent<'_> {
        Sent { document: &self.document, token: self.token, strict: self.strict }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub run_id: String,
    pub task_id: String,
    /// The number of the token.
    pub token: i64,
    pub status: Status,
    /// Why the task counts as done.
    pub evidence: Option<Evidence>,
    /// Why it is only claimed although its checks passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    pub changes: Option<SnapshotChanges>,
    pub row: Value,
}

pub fn submit(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let spent = spent(request)?;
    // A repeated request gets the stored answer; the world is not looked at again.
    let seen = if cx.was_answered(session)? { Observation::default() } else { observe(cx, request)? };
    let reply = cx.once_viewing(session, Submit::NAME, request, |work| {
        let view = work.view;
        let mut state = state_of(work.tx, &request.sent())?;
        let arrived = seen.arrived.as_ref().unwrap_or(work.now);
        let judged = judged(work.tx, &state, &request.sent(), arrived, view)?;
        let changes = seen_changes(work, &state, &judged, &seen)?;
        let task = state.task(&judged.reference)?.clone();
        let caller = token::acting(work, &task, judged.issued.token)?;
        let work = &mut work.acting_as(&caller);
        let verified = crate::checking::all_passed(&task, &seen.checks);
        if judged.result.status == Outcome::Done && task.has_checks() && !verified {
            return Err(failed_checks(&seen.checks));
        }
        let outside = changes.as_ref().and_then(|changes| changes.outside.as_ref());
        if judged.result.status == Outcome::Done {
            refuse_forbidden(outside)?;
        }
        let withheld = together([seen.withheld.clone(), outside.and_then(Outside::withheld)]);
        let (status, token) = (judged.result.status, judged.issued.token);
        crate::worklog::refuse_unexplained(work.tx, &task, (status, token), request.strict)?;
        accept(work, &state, &judged, &seen.checks, changes.clone())?;
        let delta = delta(work, &state, &judged);
        // The worker completes the task, also if another agent sends its result.
        let worker = Agent::parse(&delta.owner).ok();
        rows::step(
            work,
            &mut state,
            &delta,
            TransitionContext { verified, withheld, by: worker, ended: Ended::Submitted, spent },
        )?;
        let task = state.task(&judged.reference)?.clone();
        if task.status == Status::Blocked {
            let end = work.tx.worklog_end(&task.id)?;
            settle_blocker(work, &task, Some(&blocker(&judged, end.as_ref().map(|end| &end.line))))?;
        }
        crate::task::note_evidence(work, &task, &seen.checks)?;
        refuse_contradiction(work, &state, &judged, view)?;
        Ok(Answer {
            run_id: state.run_uuid()?,
            task_id: judged.reference.to_string(),
            token: judged.issued.token,
            status: task.status,
            evidence: task.evidence,
            withheld: task.withheld(),
            changes,
            row: state.view(&judged.reference),
        })
    })?;
    if let Some(root) = &seen.root {
        cx.host().forget_watch(root, &watch_name(reply.answer.token));
    }
    Ok(reply)
}

/// What was reported, of money and of tokens each on its own.
fn spent(request: &Request) -> Result<Spent> {
    let field = |name: &str| request.document.get(name).and_then(Value::as_i64);
    let cost = request.cost.or_else(|| field("x_cost_micro_usd").map(MicroUsd));
    let tokens = request.tokens.or_else(|| field("x_tokens"));
    if cost.is_some_and(|cost| cost.0 < 0) || tokens.is_some_and(|tokens| tokens < 0) {
        return Err(deny(Code::SchemaInvalid, "budget_negative", "what was spent cannot be below zero"));
    }
    Ok(Spent { cost, tokens })
}

fn accept(
    work: &mut EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &JudgedResult,
    checks: &[CheckSeen],
    changes: Option<SnapshotChanges>,
) -> Result<()> {
    let task = state.task(&judged.reference)?;
    let accepted = CrewChange::ResultAccepted {
        token: judged.issued.token,
        run_id: state.run.asked.id.clone(),
        task_id: task.id.clone(),
        status: judged.result.status.as_str().to_owned(),
        result: scrubbed(json!(judged.result)),
        checks: checks.to_vec(),
        changes,
    };
    let message = format!("{} reported {}", judged.reference, judged.result.status);
    work.change(&rows::about(state, task), &message, &Change::Crew(accepted))?;
    Ok(())
}
