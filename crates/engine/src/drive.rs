//! Takes a run and works it to its end, or waits for the engine that has it.

use std::time::Duration;

use contract::aocl::intents;
use contract::aocl::payload::LayerPayload;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::process::Remains;
use contract::domain::request::Agent;
use contract::domain::run::{Owner, Run, RunId, RunState};
use contract::domain::task::Task;
use ops::run::own::Owned;
use ops::run::{Liveness, own, show};
use ops::{Caller, Context, Error, Result};

use crate::dispatcher::{Dispatcher, EngineParts, Finished, busy_store, millis};
use crate::executor::Executor;
use crate::observer::{Observer, TaskProgress};
use crate::pipeline::Pipeline;
use crate::pipeline::stack::{self, LayerStack};
use crate::settings::Settings;
use crate::supervisor::{self, OwnerIdentity, whereabouts};
use crate::{recovery, walk};

/// How driving a run ended.
#[derive(Debug)]
pub enum DriveEnd {
    /// The run has its result: from this engine, from another one, or from before.
    Ended(Box<Run>),
    /// It waits for a person, or to be continued.
    Stopped(Box<Run>),
    /// This engine was stopped. The run can be continued.
    Interrupted { signal: i32, run: Box<Run> },
}

/// Works the run, or attaches to the engine that does. When it returns, no child of this process is left.
pub fn drive(
    cx: &mut Context,
    settings: &Settings,
    id: &RunId,
    observer: &mut dyn Observer,
) -> Result<DriveEnd> {
    // Before anything is written: a run is not taken by an engine that cannot walk it.
    let stack = LayerStack::parse(stack::DEFAULT)?;
    drive_through(stack, cx, settings, id, observer)
}

pub(crate) fn drive_through(
    stack: LayerStack,
    cx: &mut Context,
    settings: &Settings,
    id: &RunId,
    observer: &mut dyn Observer,
) -> Result<DriveEnd> {
    // A store that lost its file is refused by the first commit.
    if let Ok(store) = cx.store_file() {
        settings.launcher.work_for(&store);
    }
    let owner = settings.launcher.owner();
    let caller = engine_caller();
    let mut is_reported = false;
    let begun_ms = settings.launcher.monotonic_ms();
    loop {
        // Before the run is taken, because that forgets who had it.
        let engines = ops::run::engines_at_work(cx)?;
        match own::take(cx, &caller, id, &owner)? {
            Owned::Ended(run) => return Ok(DriveEnd::Ended(run)),
            Owned::Mine(run) => {
                end_leftovers(&engines, settings);
                let parts = EngineParts { cx, settings, observer, owner, caller };
                return work(parts, *run, stack);
            }
            Owned::Unsettled(holder, remains) => return Err(unsettled(settings, id, &holder, remains)),
            Owned::Another(holder) => {
                if !std::mem::replace(&mut is_reported, true) {
                    let pid = settings.launcher.pid_here(&holder).unwrap_or(holder.pid);
                    let process = settings.launcher.look_at(&holder).of_process(pid);
                    observer.report(TaskProgress::Attached { process: &process });
                }
                if let Some(ending) = attend(cx, settings, id, observer, begun_ms)? {
                    return Ok(ending);
                }
            }
        }
    }
}

/// The refusal of a run that may have live processes of a dead engine.
fn unsettled(settings: &Settings, id: &RunId, holder: &Owner, remains: Remains) -> Error {
    let pid = settings.launcher.pid_here(holder).unwrap_or(holder.pid);
    let message = format!("the run {id} belongs to an engine, {}", remains.of_process(pid));
    let remedy = remains.remedy(pid).unwrap_or_default();
    Error::new(ErrorCode::HeldByAnother, message).hint(&remedy)
}

/// Waits for the engine that works the run. `None` when that engine seems to be gone.
fn attend(
    cx: &mut Context,
    settings: &Settings,
    id: &RunId,
    observer: &mut dyn Observer,
    begun_ms: i64,
) -> Result<Option<DriveEnd>> {
    let launcher = &settings.launcher;
    let patience = patience(&show::tasks(cx, id)?, settings);
    loop {
        launcher.pause(limits::POLL_INTERVAL);
        observer.tick();
        let run = Box::new(show::state(cx, id)?);
        if let Some(signal) = settings.stop.raised() {
            return Ok(Some(DriveEnd::Interrupted { signal, run }));
        }
        if launcher.monotonic_ms() - begun_ms > millis(patience) {
            let message = format!("another engine is still working on the run {id}");
            return Err(Error::new(ErrorCode::Timeout, message).hint("show it with `writ runs show`"));
        }
        match run.state {
            RunState::Done | RunState::Failed | RunState::Canceled => return Ok(Some(DriveEnd::Ended(run))),
            RunState::Stopped => return Ok(Some(DriveEnd::Stopped(run))),
            RunState::Submitted | RunState::Running if !ops::run::is_worked(cx, &run) => {
                return Ok(None);
            }
            RunState::Submitted | RunState::Running => {}
        }
    }
}

/// The longest a run can take: every attempt of every task takes its full time, one after the other.
fn patience(tasks: &[Task], settings: &Settings) -> Duration {
    let specs = tasks.iter().filter_map(|task| task.part.as_ref()).map(|part| &part.spec);
    let per_task = specs.map(|task| {
        let checks = u32::try_from(task.checks.len()).unwrap_or(u32::MAX);
        let timeout = if task.policy.may_be_late { limits::TASK_TIMEOUT_MAX } else { task.timeout() };
        let attempt = timeout + limits::CHECK_TIMEOUT * checks + limits::KILL_DEADLINE;
        let models = u32::try_from(task.alternatives.len()).unwrap_or(u32::MAX).saturating_add(1);
        let executor = settings.executors.find(&task.executor);
        let asked = executor.map_or(Duration::ZERO, Executor::retry_after_max);
        let waits: Duration =
            (2..=i64::from(task.retries) + 1).map(|number| task.backoff(number).max(asked)).sum();
        let locks = if task.writes.is_empty() { Duration::ZERO } else { settings.waits.locks };
        let limit = if task.is_model_free() { Duration::ZERO } else { settings.waits.provider };
        let limit_waits = limit.saturating_mul(limits::LIMITED_ATTEMPTS_MAX).saturating_mul(models);
        (attempt * (task.retries + 1) + waits).saturating_mul(models).saturating_add(limit_waits) + locks
    });
    per_task.fold(limits::OWNER_LEASE, Duration::saturating_add)
}

fn work(mut parts: EngineParts<'_>, mut run: Run, stack: LayerStack) -> Result<DriveEnd> {
    let whole = show::by_id(parts.cx, &run.asked.id)?;
    // The layers look at the whole plan; the run's row has only its head.
    let specs = whole.tasks.iter().filter_map(|(task, _)| task.part.as_ref());
    run.asked.plan.tasks = specs.map(|part| part.spec.clone()).collect();
    let records = records(&mut parts, &run)?;
    let pipeline = if records.is_empty() {
        Pipeline::new(stack, &run.asked)
    } else {
        Pipeline::resumed(stack, &run.asked, &records)?
    };
    let id = run.asked.id.clone();
    let mut dispatcher = Dispatcher::new(parts, run, pipeline, whole.tasks);
    // Short waits, so that a signal is heeded between two of them.
    dispatcher.engine.cx.wait_at_most(busy_store::ONE_WAIT)?;
    dispatcher.engine.begin_audit(&dispatcher.tasks);
    let worked = recovery::recover(&mut dispatcher).and_then(|()| walk::walk(&mut dispatcher));
    let worked = worked.map_err(|error| dispatcher.engine.rescued(error));
    // Also after an error: the caller goes on with the same store.
    let restored = dispatcher.engine.cx.wait_at_most(limits::BUSY_WAIT_MAX);
    let finished = worked?;
    restored?;
    let run = Box::new(show::state(dispatcher.engine.cx, &id)?);
    Ok(match finished {
        Finished::Interrupted(signal) => DriveEnd::Interrupted { signal, run },
        Finished::Settled | Finished::Canceled if run.state == RunState::Stopped => DriveEnd::Stopped(run),
        Finished::Settled | Finished::Canceled => DriveEnd::Ended(run),
    })
}

/// Ends the children of engines that died; those of living engines are never touched. The process table is read only
/// if the journal names an engine of this boot that died during its work.
fn end_leftovers(engines: &[Owner], settings: &Settings) {
    let launcher = &settings.launcher;
    if engines.iter().any(|engine| launcher.probe(engine) == Liveness::Dead) {
        launcher.end_leftovers();
    }
}

/// The records that an earlier walk of the same run left, in their order.
fn records(parts: &mut EngineParts<'_>, run: &Run) -> Result<Vec<LayerPayload>> {
    let mine = run.asked.id.as_str();
    let events = ops::event::by_corr(parts.cx, &run.asked.corr)?;
    let layers = events.into_iter().filter(|event| {
        event.record.intent == intents::LAYER_DECISION && event.record.run_id.as_deref() == Some(mine)
    });
    layers
        .map(|event| {
            serde_json::from_value(event.record.payload).map_err(|error| {
                Error::new(ErrorCode::Corrupt, format!("event {} is not a layer record: {error}", event.id))
            })
        })
        .collect()
}

/// Whether an owner is alive, as far as this process can see.
pub fn probe(owner: &Owner) -> Liveness {
    let own = supervisor::own_identity();
    let alive = if owner.boot_id == whereabouts(&own) {
        let identity = OwnerIdentity::process(owner.pid, owner.start_time, own.boot_id);
        Some(supervisor::is_alive(&identity))
    } else {
        match owner.boot_id.split_once(' ') {
            Some((boot_id, namespace)) if boot_id == own.boot_id => {
                supervisor::is_alive_inside(owner, namespace)
            }
            _ => None,
        }
    };
    match alive {
        None => Liveness::Unseen,
        Some(true) => Liveness::Alive,
        Some(false) => Liveness::Dead,
    }
}

pub(crate) fn identity() -> Owner {
    let own = supervisor::own_identity();
    let within = supervisor::own_namespaces();
    Owner {
        pid: own.pid,
        start_time: own.start_time,
        boot_id: whereabouts(&own),
        within,
        machine: supervisor::machine(),
        store: None,
    }
}

fn engine_caller() -> Caller {
    let agent = Agent::parse("writ").expect("BUG: a fixed name");
    Caller { agent, entity: "service.writ".to_owned(), holder: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_whose_pids_mean_something_here_are_judged() {
        let own = identity();
        assert_eq!(probe(&own), Liveness::Alive);
        assert_eq!(probe(&Owner { start_time: own.start_time + 1, ..own.clone() }), Liveness::Dead);
        let elsewhere = |boot_id: String| probe(&Owner { boot_id, ..own.clone() });
        assert_eq!(elsewhere("another boot".to_owned()), Liveness::Unseen);
        let same_boot = supervisor::own_identity().boot_id;
        assert_eq!(elsewhere(format!("{same_boot} pid:[1]")), Liveness::Unseen);
    }
}
