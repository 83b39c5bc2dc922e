//! The watchdog: blocks tasks without heartbeats and releases their locks.

mod progress;

use std::collections::BTreeSet;
use std::time::Duration;

use contract::domain::crew::Ended;
use contract::domain::crew::lock::{ENGINE_GONE, HeldLock};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::limits;
use contract::domain::run::{DocumentKind, RunId};
use contract::domain::status::Status;
use contract::json::Map;
use contract::operator::watchdog::{HeartbeatState, liveness};
use contract::operator::{Blocker, Code, Delta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Caller, Context};
use crate::crew::blockers::settle_blocker;
use crate::crew::grants;
use crate::crew::ledger_state::{LedgerState, find_run};
use crate::crew::rows::{self, TransitionContext};
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Sweep;

impl Verb for Sweep {
    const NAME: &'static str = "watchdog.sweep";
    const COMMAND: &'static str = "watchdog sweep";
    const SUMMARY: &'static str = "Block tasks without heartbeats and release their locks";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> =
        Function::Repeatable(|cx, session, request| sweep(cx, &session.caller, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only this run. Default: every run with an expired lock.
    #[serde(default)]
    pub run: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Tasks that were in progress and are blocked now; their locks are released.
    pub timed_out: Vec<Value>,
    /// Expired locks of tasks that were not in progress.
    pub released: Vec<Value>,
    /// Expired locks of engines that are or may be alive. They are not given to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Value>,
    /// Approvals denied because their deadline passed.
    #[serde(default)]
    pub denied: Vec<String>,
    /// Rows with an impossible heartbeat, and workers that send heartbeats but change nothing (`no_progress`); a person
    /// must decide.
    pub problems: Vec<Value>,
    /// Live assignments without a look at their files: a sweep looks at a limited number of workspaces.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_looked_at: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Sweeps once. A second call finds nothing to do, so it needs no request id.
pub fn sweep(cx: &mut Context, caller: &Caller, request: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let only = request.run.as_ref().map(|run| find_run(&tx, run)).transpose()?.map(|run| run.asked.id);
    let runs: BTreeSet<RunId> = match &only {
        Some(run) => BTreeSet::from([run.clone()]),
        None => tx.expired_locks(&now)?.into_iter().map(|lock| lock.run_id).collect(),
    };
    drop(tx);
    let runs: Vec<RunId> = runs.into_iter().collect();
    let mut answer = cx.viewing(|cx, view| sweep_runs(cx, caller, &runs, view))?;
    let looked = progress::look(cx, caller, only.as_ref())?;
    answer.problems.extend(looked.findings);
    answer.not_looked_at = looked.left;
    Ok(answer)
}

fn sweep_runs(cx: &mut Context, caller: &Caller, runs: &[RunId], view: &HostView) -> Result<Answer> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view };
    let mut answer = Answer::default();
    for run_id in runs {
        let mut state = LedgerState::load(&tx, crate::run::required(&tx, run_id)?)?;
        sweep_run(&mut work, &mut state, &mut answer)?;
    }
    answer.denied = crate::approval::deny_expired(&mut work)?;
    if !answer.timed_out.is_empty() || !answer.released.is_empty() || !answer.denied.is_empty() {
        tx.commit()?;
    }
    Ok(answer)
}

/// The same for an engine at its heartbeat: writes nothing if nothing expired, and sweeps a bounded number of runs.
pub fn tick(cx: &mut Context, caller: &Caller) -> Result<Answer> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    let expired = tx.expired_locks(&now)?;
    let is_quiet = !crate::approval::has_expired(&tx, &now)?;
    drop(tx);
    let host = cx.host();
    // Engines that are or may be alive keep their locks, so their runs need not be read.
    let may_be_swept = |lock: &HeldLock| {
        lock.holder.as_ref().is_none_or(|holder| host.liveness(holder) == crate::run::Liveness::Dead)
    };
    let runs: BTreeSet<RunId> = expired.into_iter().filter(may_be_swept).map(|lock| lock.run_id).collect();
    if is_quiet && runs.is_empty() {
        return Ok(Answer::default());
    }
    let runs: Vec<RunId> = runs.into_iter().take(limits::SWEPT_RUNS_MAX).collect();
    cx.viewing(|cx, view| sweep_runs(cx, caller, &runs, view))
}

/// Sweeps one run in the caller's transaction.
pub(crate) fn sweep_run(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    answer: &mut Answer,
) -> Result<()> {
    let names: Vec<TaskRef> = state.tasks.keys().cloned().collect();
    // The engine that runs a document watches its tasks itself.
    let is_ours = state.run.asked.kind == DocumentKind::Ledger;
    for name in names {
        let task = &state.tasks[&name];
        let held = work.tx.locks_of_task(&task.id)?;
        match (task.status, expired(&held, work)) {
            (Status::InProgress, _) if is_ours => watch(work, state, &name, &held, answer)?,
            (_, Some(lock)) => release(work, &lock, answer)?,
            (_, None) => {}
        }
    }
    Ok(())
}

/// Releases an expired lock. An engine's lock stays until nothing of the engine is left.
fn release(work: &mut EventWriter<'_, '_>, lock: &HeldLock, answer: &mut Answer) -> Result<()> {
    let facts = json!({
        "run_id": lock.run_id.uuid(), "task_id": lock.reference, "token": lock.token, "resource": lock.scope,
    });
    let Some(holder) = &lock.holder else {
        grants::release(work, lock, "lease expired")?;
        answer.released.push(facts);
        return Ok(());
    };
    let remains = work.view.remains(holder)?;
    let pid = work.view.pid_here(holder);
    let told = remains.of_process(pid);
    if remains.may_be_swept() {
        grants::release(work, lock, &format!("{ENGINE_GONE}: {told}"))?;
        answer.released.push(facts);
    } else {
        let mut kept = facts;
        kept["remains"] = json!(remains);
        kept["reason"] = json!(format!("held by {told}"));
        kept["remedy"] = json!(remains.remedy(pid));
        answer.kept.push(kept);
    }
    Ok(())
}

fn expired(held: &[HeldLock], work: &EventWriter<'_, '_>) -> Option<HeldLock> {
    held.iter().find(|lock| !lock.lease.is_live(work.now)).cloned()
}

/// A task in progress: its locks' lease on the boot clock decides; without locks, the heartbeat in its row does.
fn watch(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    name: &TaskRef,
    held: &[HeldLock],
    answer: &mut Answer,
) -> Result<()> {
    let run_id = state.run_uuid()?;
    let problem = |rule: &str, reason: &str| json!({"run_id": run_id, "task_id": name, "code": Code::SchemaInvalid, "rule": rule, "reason": reason});
    let timeout = state.ledger.rows[name].columns.timeout_seconds;
    let heard = state.judged_heartbeat(name, work.now);
    let age = match (held.first(), heard) {
        (Some(lock), _) if lock.lease.is_live(work.now) => return Ok(()),
        (Some(lock), heard) => {
            let least = Duration::from_millis(lock.timeout_ms);
            heard.map_or(least, |heard| work.now.at.since(heard).max(least))
        }
        (None, None) => {
            answer.problems.push(problem("heartbeat_missing", "in progress without any heartbeat"));
            return Ok(());
        }
        (None, Some(heard)) => {
            match liveness(work.now.at, heard, timeout.map_or(Duration::MAX, Duration::from_secs)) {
                HeartbeatState::Live { .. } => return Ok(()),
                HeartbeatState::InFuture => {
                    answer.problems.push(problem("heartbeat_in_future", "its heartbeat is ahead of now"));
                    return Ok(());
                }
                HeartbeatState::TimedOut { age } => age,
            }
        }
    };
    answer.timed_out.push(block(work, state, name, held, age)?);
    Ok(())
}

/// Blocks the row and releases its locks; only then can the task be planned again.
fn block(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    name: &TaskRef,
    held: &[HeldLock],
    age: Duration,
) -> Result<Value> {
    let row = &state.ledger.rows[name];
    let task = &state.tasks[name];
    let token = held.first().map(|lock| lock.token);
    let timeout = held.first().map_or(row.columns.timeout_seconds, |lock| Some(lock.timeout_ms / 1000));
    let reason = format!("no heartbeat for {} s", age.as_secs());
    let tries = i64::try_from(row.retry_count).unwrap_or(i64::MAX).saturating_add(2);
    let wait = task.part.as_ref().map_or(Duration::ZERO, |part| part.spec.backoff(tries));
    let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(0);
    let heard = state.last_heartbeat(name);
    let delta = Delta {
        owner: row.owner.clone(),
        reason: format!("{}: {reason}", Code::TaskTimeout),
        delta_id: format!("writ:watchdog:{name}:{}", row.version),
        last_heartbeat_at: heard.map(|heard| heard.to_string()),
        timed_out: Some(true),
        retry_after_ms: Some(retry_after_ms),
        ..Delta::blank(name.clone(), Status::Blocked)
    };
    let facts = json!({
        "run_id": state.run_uuid()?, "task_id": name, "last_heartbeat_at": heard, "timeout_seconds": timeout,
        "age_seconds": age.as_secs(), "token": token, "retry_after_ms": retry_after_ms,
    });
    rows::step(
        work,
        state,
        &delta,
        TransitionContext { ended: Ended::TimedOut, ..TransitionContext::NOTHING },
    )?;
    let blocker = Blocker {
        task_id: name.clone(),
        code: Code::TaskTimeout,
        reason,
        details: facts.as_object().cloned(),
        extra: Map::new(),
    };
    settle_blocker(work, &state.tasks[name], Some(&blocker))?;
    Ok(facts)
}
