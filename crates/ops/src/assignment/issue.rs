//! Assigns a task to a worker: the packet, its locks, its budget and the row in progress, in one transaction; then the
//! snapshot of its scope.

use contract::domain::code::ErrorCode;
use contract::domain::crew::budget::Amount;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::LockToken;
use contract::domain::money::MicroUsd;
use contract::domain::plan::Budget;
use contract::domain::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::packet::packet;
use crate::context::{Context, Session};
use crate::crew::denial::denied;
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::packet::{AssignmentDraft, IssuedPacket, issue_packet};
use crate::crew::ready::{nothing_ready, ready};
use crate::crew::token;
use crate::error::Result;
use crate::host::HostView;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Issue;

impl Verb for Issue {
    const NAME: &'static str = "assignment.issue";
    const COMMAND: &'static str = "assignment issue";
    const SUMMARY: &'static str = "Assign a task to a worker, with its locks and its budget";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(issue);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    /// The task. Default: the next one that is ready, by priority and then by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The worker. Default: the caller.
    #[serde(default)]
    pub owner: Option<String>,
    /// Files and directories that the worker must not change.
    #[serde(default)]
    pub forbidden_scope: Vec<String>,
    /// The worker's context: objects with `kind` and `value`.
    #[serde(default)]
    pub context_package: Vec<Value>,
    /// Default: `worklogs/TASK.jsonl`, and `worklogs/RUN/TASK.jsonl` from the second run in a workspace on.
    #[serde(default)]
    pub worklog_path: Option<String>,
    /// How long the worker may go without a heartbeat.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub heartbeat_interval_seconds: Option<u64>,
    /// What the worker may spend. Default: the plan's budget for the task.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
    #[serde(default)]
    pub tokens: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Every heartbeat, worklog entry and the result must carry it. It is not stored, and shown only here.
    pub token: LockToken,
    pub run_id: String,
    pub task_id: String,
    pub reserved: Option<Amount>,
    pub packet: Value,
}

pub fn issue(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let mut reply = match &request.task {
        Some(task) => issue_task(cx, session, request, &reference(task)?)?,
        None => issue_next(cx, session, request)?,
    };
    super::snapshot::take(cx, &session.caller, reply.answer.token.number)?;
    fill_in(cx, &mut reply.answer)?;
    Ok(reply)
}

/// Adds the token to an answer that has only its number, as stored answers do.
pub(crate) fn fill_in(cx: &mut Context, answer: &mut Answer) -> Result<()> {
    answer.token = token::of_assignment(&cx.store.read()?, answer.token.number)?;
    answer.packet["x_token"] = json!(answer.token);
    Ok(())
}

/// Assigns the first task that is ready and that nothing else keeps from being assigned.
fn issue_next(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let now = cx.clock.now().at;
    let state = LedgerState::of(&cx.store.read()?, &request.run)?.of_a_crew()?;
    let mut names = ready(&state.ledger, now);
    // A repeated call gets its answer whichever task it names.
    if names.is_empty() && cx.was_answered(session)? {
        names.extend(state.ledger.rows.keys().next().cloned());
    }
    let mut refusal = None;
    for name in names {
        match issue_task(cx, session, request, &name) {
            Err(error) if is_about_one_task(error.code) => {
                refusal.get_or_insert(error);
            }
            other => return other,
        }
    }
    Err(refusal.unwrap_or_else(|| nothing_ready(&state.ledger, now)))
}

/// Whether another task of the same ledger may still be assigned.
fn is_about_one_task(code: ErrorCode) -> bool {
    use ErrorCode as C;
    matches!(
        code,
        C::LockConflict
            | C::DependencyNotMet
            | C::ConcurrencyConflict
            | C::InvalidTransition
            | C::NonCompliant
            | C::MissingRequiredInput
            | C::SchemaInvalid
            | C::ScopeViolation
            | C::UntrustedContextBlock
    )
}

fn issue_task(
    cx: &mut Context,
    session: &Session,
    request: &Request,
    name: &TaskRef,
) -> Result<Reply<Answer>> {
    cx.once_viewing(session, Issue::NAME, request, |work| {
        let view = work.view;
        let mut state = LedgerState::of(work.tx, &request.run)?.of_a_crew()?;
        let owner = request.owner.clone().unwrap_or_else(|| work.caller.agent.as_str().to_owned());
        let mut packet = packet(work.tx, &state, name, request)?;
        packet["generated_at"] = json!(work.now.at);
        let share = share(state.task(name)?, request);
        let draft = AssignmentDraft { reference: name.clone(), packet, owner, share };
        let issued = issue_packet(work, &mut state, view, draft)?;
        settled(work.tx, &state, work.now, view)?;
        answer(&state, name, issued)
    })
}

/// Refuses while the ledger is inconsistent.
pub(crate) fn settled(
    tx: &store::Tx<'_>,
    state: &LedgerState,
    now: &contract::domain::time::Now,
    view: &HostView,
) -> Result<()> {
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let verdict = state.reconcile(tx, now, fold)?;
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}

pub(crate) fn answer(state: &LedgerState, name: &TaskRef, issued: IssuedPacket) -> Result<Answer> {
    Ok(Answer {
        token: issued.token.into(),
        run_id: state.run_uuid()?,
        task_id: name.to_string(),
        reserved: issued.reserved,
        packet: issued.packet,
    })
}

fn share(task: &Task, request: &Request) -> Option<Amount> {
    let planned = task.part.as_ref().map(|part| part.spec.budget).unwrap_or_default();
    Budget { cost: request.cost.or(planned.cost), tokens: request.tokens.or(planned.tokens) }.share()
}
