//! Accepts a result: moves the row, releases the locks, books the budget, and grants done only after the checks.

use contract::domain::change::Change;
use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::crew::budget::Amount;
use contract::domain::crew::snapshot::{Changes, Snapshot, compare};
use contract::domain::crew::token::LockToken;
use contract::domain::crew::{CrewChange, Ended};
use contract::domain::money::MicroUsd;
use contract::domain::outside::{self, Interval, Outside};
use contract::domain::scope::Scope;
use contract::domain::status::{Evidence, Status};
use contract::operator::{Code, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::observe::observe;
use super::transition::{blocker, delta};
use super::{Judged, Observation, Sent, judged, state_of};
use crate::assignment::snapshot::watch_name;
use crate::context::{Context, Key};
use crate::crew::blockers::settle_blocker;
use crate::crew::denial::{denied, deny, verdict};
use crate::crew::ledger_state::LedgerState;
use crate::crew::meanwhile::{self, Since};
use crate::crew::rows::{self, TransitionContext};
use crate::crew::token;
use crate::error::Result;
use crate::host::{HostView, WatchEnd, Watched};
use crate::once::Reply;
use crate::record::{EventWriter, scrubbed};
use crate::verb::{Function, Surface, Verb};

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
    /// What the worker spent, in micro-USD. Default: everything that was reserved.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
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
    pub changes: Option<Changes>,
    pub row: Value,
}

pub fn submit(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let spent = spent(request)?;
    // A repeated request gets the stored answer; the world is not looked at again.
    let seen = if cx.was_answered(key)? { Observation::default() } else { observe(cx, request)? };
    let reply = cx.once_viewing(key, Submit::NAME, request, |work| {
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
        let withheld = outside.and_then(Outside::withheld);
        let (status, token) = (judged.result.status, judged.issued.token);
        crate::worklog::refuse_unexplained(work.tx, &task, (status, token), request.strict)?;
        accept(work, &state, &judged, &seen.checks, changes.clone())?;
        let delta = delta(work, &state, &judged);
        rows::step(
            work,
            &mut state,
            &delta,
            TransitionContext { verified, withheld, ended: Ended::Submitted, spent },
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
            changes,
            row: state.view(&judged.reference),
        })
    })?;
    if let Some(root) = &seen.root {
        cx.host().forget_watch(root, &watch_name(reply.answer.token));
    }
    Ok(reply)
}

fn spent(request: &Request) -> Result<Option<Amount>> {
    let field = |name: &str| request.document.get(name).and_then(Value::as_i64);
    let cost = request.cost.or_else(|| field("x_cost_micro_usd").map(MicroUsd));
    let tokens = request.tokens.or_else(|| field("x_tokens"));
    if cost.is_none() && tokens.is_none() {
        return Ok(None);
    }
    let spent = Amount { cost: cost.unwrap_or_default(), tokens: tokens.unwrap_or_default() };
    if spent.is_negative() {
        return Err(deny(Code::SchemaInvalid, "budget_negative", "what was spent cannot be below zero"));
    }
    Ok(Some(spent))
}

/// How the files changed since the snapshot, in the scope and outside it.
fn seen_changes(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &Judged,
    seen: &Observation,
) -> Result<Option<Changes>> {
    let Some((after, watched)) = &seen.workspace else { return Ok(None) };
    let Some(before) = &judged.issued.snapshot else {
        let message = "the assignment has no snapshot of its scope, so its changes are unknown";
        return Err(deny(Code::LedgerInconsistent, "snapshot_missing", message));
    };
    let mut changes = compare(before, &after.files, &judged.claimed);
    let outside = outside(work, state, judged, (after, watched, before))?;
    changes.outside = Some(outside).filter(|outside| !outside.is_empty());
    Ok(Some(changes))
}

/// What changed outside the scope of the assignment, and whose it is.
fn outside(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &Judged,
    (after, watched, before): (&WatchEnd, &Watched, &Snapshot),
) -> Result<Outside> {
    let root = &state.run.asked.workspace;
    let own = judged.issued.packet["task"]["worklog_path"].as_str();
    let own = own.and_then(|path| Scope::parse(path, Some(root)).ok());
    let scratch: Vec<Scope> = watched.scratch.iter().cloned().chain(own).collect();
    let since = Since { oldest_grant: before.oldest_grant.unwrap_or(0), at: judged.issued.issued_at };
    let others = meanwhile::others_in(work.tx, &state.run, &judged.issued.task_id, since, work.now)?;
    let interval = Interval {
        scope: &watched.scopes,
        forbidden: &watched.forbidden,
        scratch: &scratch,
        others: &others,
        fold: work.view.folds_case(root)?,
    };
    let outside = outside::judge(&interval, after.changed.iter().map(String::as_str));
    Ok(Outside { not_seen: after.not_seen.clone(), ..outside })
}

/// A task whose author's forbidden files changed is not done, whoever reports it.
fn refuse_forbidden(outside: Option<&Outside>) -> Result<()> {
    let Some((outside, message)) = outside.and_then(|outside| Some((outside, outside.refusal()?))) else {
        return Ok(());
    };
    let mut refusal = verdict(Code::ScopeViolation, "in_forbidden_scope", message);
    refusal.details.more.insert("outside".to_owned(), scrubbed(json!(outside)));
    Err(denied(&refusal))
}

fn failed_checks(seen: &[CheckSeen]) -> crate::Error {
    let message = first_failed(seen).map(CheckSeen::fault);
    let message = message.unwrap_or_else(|| "the task has checks that writ has not run".to_owned());
    let mut refusal = verdict(Code::AcceptanceFailed, "criterion_failed", message);
    refusal.details.more.insert("checks".to_owned(), scrubbed(json!(seen)));
    denied(&refusal)
}

fn accept(
    work: &mut EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &Judged,
    checks: &[CheckSeen],
    changes: Option<Changes>,
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

/// A task does not enter done while what is written about it contradicts itself.
fn refuse_contradiction(
    work: &EventWriter<'_, '_>,
    state: &LedgerState,
    judged: &Judged,
    view: &HostView,
) -> Result<()> {
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let verdict = state.reconcile(work.tx, work.now, fold)?;
    let issues = verdict.details.more.get("issues").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = issues.iter().any(|issue| issue["task_id"] == judged.reference.as_str());
    if own { Err(denied(&verdict)) } else { Ok(()) }
}
