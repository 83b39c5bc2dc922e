//! Repairs an inconsistent ledger, so that tasks can be assigned again. Every repair is an ordinary change of a row or a
//! lock, and the answer lists it.

use contract::domain::crew::lock::HeldLock;
use contract::domain::crew::row::Accepted;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::status::Status;
use contract::json::Map;
use contract::operator::{Blocker, Code, Delta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Context, Session};
use crate::crew::blockers::settle_blocker;
use crate::crew::denial::denied;
use crate::crew::grants;
use crate::crew::ledger_state::{LedgerState, reference};
use crate::crew::rows::{self, TransitionContext};
use crate::error::Result;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

/// A repair may uncover the next contradiction, such as a task that depends on one that was just blocked. Each round
/// resolves all that it finds, so a few are enough.
const ROUNDS_MAX: usize = 8;

pub struct Repair;

impl Verb for Repair {
    const NAME: &'static str = "ledger.repair";
    const COMMAND: &'static str = "ledger repair";
    const SUMMARY: &'static str = "Resolve the inconsistencies of a ledger";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(repair);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's UUID or id.
    pub run: String,
    /// Why rows that are done without a result count as done. Default: they are left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub run_id: String,
    pub version: u64,
    pub repaired: Vec<Repaired>,
    /// The verdict of `ledger.reconcile` afterwards. It denies if something is left that only a person can decide.
    pub reconcile: Value,
}

/// One contradiction that was resolved, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repaired {
    /// The rule of the contradiction, such as `RC-11`.
    pub rule: String,
    pub task_id: String,
    pub action: String,
}

/// Resolves what can be resolved without a decision: tasks that cannot go on are blocked, locks of tasks that ended are
/// released, missing blockers are added. With `accept`, rows that are done without a result are accepted.
pub fn repair(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    if let Some(reason) = &request.accept {
        crate::run::accept::refuse_secrets_in(&json!([reason]))?;
    }
    let accept = request.accept.as_deref().filter(|reason| !reason.trim().is_empty());
    cx.once_viewing(session, Repair::NAME, request, |work| {
        let mut state = LedgerState::of(work.tx, &request.run)?.of_a_crew()?;
        let fold = work.view.folds_case(&state.run.asked.workspace)?;
        let mut repaired = Vec::new();
        let mut judged = state.reconcile(work.tx, work.now, fold)?;
        for _ in 0..ROUNDS_MAX {
            let issues = judged.details.more.get("issues").and_then(Value::as_array).cloned();
            let mut is_quiet = true;
            for issue in issues.unwrap_or_default() {
                let Some(action) = resolve(work, &mut state, &issue, accept)? else { continue };
                is_quiet = false;
                let text = |name: &str| issue[name].as_str().unwrap_or_default().to_owned();
                repaired.push(Repaired { rule: text("rule"), task_id: text("task_id"), action });
            }
            judged = state.reconcile(work.tx, work.now, fold)?;
            if is_quiet || judged.allow {
                break;
            }
        }
        if repaired.is_empty() && !judged.allow {
            return Err(denied(&judged).hint(DECIDE));
        }
        Ok(Answer {
            run_id: state.run_uuid()?,
            version: state.ledger.version,
            repaired,
            reconcile: json!(judged),
        })
    })
}

/// What a person can do about the rest.
const DECIDE: &str = "set accept to the reason why rows that are done without a result count as done; create missing \
                      dependencies, or change those of a blocked row, with `writ ledger apply`";

/// Resolves one issue; returns what was done, or `None` if it is a person's decision or was resolved already.
fn resolve(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    issue: &Value,
    accept: Option<&str>,
) -> Result<Option<String>> {
    let Ok(name) = reference(issue["task_id"].as_str().unwrap_or_default()) else { return Ok(None) };
    let status = state.ledger.rows.get(&name).map(|row| row.status);
    match (issue["rule"].as_str().unwrap_or_default(), status) {
        ("RC-08" | "RC-09" | "RC-19", _) => release(work, state, &name),
        ("RC-16", Some(Status::Blocked)) => add_blocker(work, state, &name, issue),
        ("RC-17", Some(Status::Done)) => match accept {
            Some(reason) => accept_row(work, state, &name, reason),
            None => Ok(None),
        },
        (_, Some(Status::InProgress | Status::Todo)) => block(work, state, &name, issue),
        (_, Some(Status::Blocked | Status::Done | Status::Failed | Status::Canceled) | None) => Ok(None),
    }
}

/// Blocks a task that cannot go on; its locks are released with that.
fn block(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    name: &TaskRef,
    issue: &Value,
) -> Result<Option<String>> {
    let row = state.row(name)?;
    let reason = issue["message"].as_str().unwrap_or_default().to_owned();
    let delta = Delta {
        owner: row.owner.clone(),
        reason: reason.clone(),
        delta_id: format!("writ:repair:{name}:{}", row.version),
        timed_out: Some(false),
        ..Delta::blank(name.clone(), Status::Blocked)
    };
    rows::step(work, state, &delta, TransitionContext::NOTHING)?;
    add_blocker(work, state, name, issue)?;
    Ok(Some(format!("blocked: {reason}")))
}

fn add_blocker(
    work: &mut EventWriter<'_, '_>,
    state: &LedgerState,
    name: &TaskRef,
    issue: &Value,
) -> Result<Option<String>> {
    let code = issue["code"].as_str().and_then(Code::parse).unwrap_or(Code::LedgerInconsistent);
    let reason = issue["message"].as_str().unwrap_or("blocked by a repair").to_owned();
    let blocker = Blocker { task_id: name.clone(), code, reason, details: None, extra: Map::new() };
    settle_blocker(work, state.task(name)?, Some(&blocker))?;
    Ok(Some(format!("blocker {code} added")))
}

fn release(work: &mut EventWriter<'_, '_>, state: &LedgerState, name: &TaskRef) -> Result<Option<String>> {
    let held = work.tx.active_locks_of_run(&state.run.asked.id)?;
    // The newest grant of the task is the one that should not be there.
    let newest: Option<&HeldLock> =
        held.iter().filter(|lock| lock.reference == *name).max_by_key(|lock| lock.token);
    let Some(lock) = newest else { return Ok(None) };
    grants::release(work, lock, "repaired")?;
    Ok(Some(format!("lock on {} released", lock.scope)))
}

fn accept_row(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    name: &TaskRef,
    reason: &str,
) -> Result<Option<String>> {
    let by = work.caller.entity.clone();
    let accepted =
        Accepted { by, reason: reason.to_owned(), acceptance_check: Vec::new(), checks: Vec::new() };
    if let Some(row) = state.ledger.rows.get_mut(name) {
        row.x_accepted = Some(accepted);
    }
    rows::rewrite(work, state, name)?;
    Ok(Some(format!("accepted as done: {reason}")))
}
