//! Limit windows: what providers refuse until a reset time, who waits for it, and who goes first afterwards.

pub mod clear;
pub mod list;

use std::time::Duration;

use contract::domain::attempt::{Attempt, AttemptId, AttemptOutcome, NewAttempt};
use contract::domain::change::Change;
use contract::domain::limit_window::{LimitWindow, Sighting, WaitReason, WindowAdmission, opened, resources};
use contract::domain::limits;
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::time::{Now, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::context::Context;
use crate::crew::Obstacle;
use crate::decision::about_id;
use crate::error::Result;
use crate::record::{About, EventWriter};

/// A window that keeps an attempt from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitConflict {
    pub window: LimitWindow,
    pub waits: WaitReason,
    /// What is waited for, for people.
    pub awaited: String,
    /// Since when the task waits; `None` if it begins to wait now.
    pub since: Option<Timestamp>,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitWait {
    pub resource: String,
    /// When its provider takes work again.
    pub until: Timestamp,
    /// What is waited for, for people.
    pub told: String,
    pub since: Timestamp,
}

impl LimitConflict {
    /// Whether the task would have to wait longer than `longest` in all.
    pub fn exceeds(&self, longest: Duration, now: &Now) -> bool {
        let waited = self.since.map_or(Duration::ZERO, |since| now.at.since(since));
        match self.waits {
            WaitReason::Reset(left) => waited.saturating_add(left) > longest,
            // Its turn comes soon, whatever it was ready to wait for.
            WaitReason::Probe(_) | WaitReason::Turn(_) => waited > longest.max(limits::LIMIT_WINDOW_KEPT),
        }
    }

    /// Until the resource is checked again, because its window may be cleared meanwhile.
    pub fn next_look(&self) -> Duration {
        self.waits.left().min(limits::LIMIT_POLL)
    }
}

/// The window that would keep an attempt of the task with this executor and model from beginning now. Looks only.
pub fn conflict(
    cx: &mut Context,
    task: &TaskId,
    (executor, model): (&str, Option<&str>),
) -> Result<Option<LimitConflict>> {
    let now = cx.clock.now();
    let tx = cx.store.read()?;
    for resource in resources(executor, model) {
        let Some(window) = tx.limit_window(&resource)? else { continue };
        // Nothing is written, so it does not matter which attempt would go.
        if let WindowAdmission::Wait(waits) = admission(&tx, &window, &window.seen.attempt_id, &now)? {
            return conflict_of(&tx, task, (window, waits), &now).map(Some);
        }
    }
    Ok(None)
}

/// Whether an attempt may begin as far as limit windows are concerned. It is written down that it does.
pub(crate) fn admit(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    attempt: &NewAttempt,
) -> Result<std::result::Result<(), Obstacle>> {
    let about = About { task_id: Some(attempt.task_id.clone()), ..crate::run::about(run) };
    for resource in resources(&attempt.executor, attempt.model.as_deref()) {
        let Some(window) = work.tx.limit_window(&resource)? else { continue };
        match admission(work.tx, &window, &attempt.id, work.now)? {
            WindowAdmission::Wait(waits) => {
                let conflict = conflict_of(work.tx, &attempt.task_id, (window, waits), work.now)?;
                return Ok(Err(Obstacle::Limit(Box::new(conflict))));
            }
            WindowAdmission::Start(window) => {
                let begun = window.resuming.as_ref().map_or(0, |resuming| resuming.begun);
                let message = if begun == 1 {
                    format!("{resource} is tried again after its limit")
                } else {
                    format!("{resource} is used again, by attempt {begun} after its limit")
                };
                work.change(&about, &message, &Change::LimitWindowSet { window })?;
            }
            WindowAdmission::Over => end(work, &about, &resource, None)?,
        }
    }
    end_wait(work, &about, &attempt.task_id)?;
    Ok(Ok(()))
}

/// A task that is left to a person or has ended does not wait: if it is made ready again, it begins to wait anew.
/// `in_progress` is not such an end, because the start of its attempt may still be refused.
pub(crate) fn follow(
    work: &mut EventWriter<'_, '_>,
    about: &About,
    (task, to): (&TaskId, Status),
) -> Result<()> {
    match to {
        Status::Todo | Status::InProgress => Ok(()),
        _ => end_wait(work, about, task),
    }
}

fn end_wait(work: &mut EventWriter<'_, '_>, about: &About, task: &TaskId) -> Result<()> {
    if work.tx.limit_waiter(task)?.is_some() {
        let ended = Change::TaskLimitWaitEnded { task_id: task.clone() };
        work.change(about, "Waits for no limit any more", &ended)?;
    }
    Ok(())
}

/// Remembers what ended an attempt, if that was a limit of its provider.
pub(crate) fn remember(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    attempt: &Attempt,
    outcome: &AttemptOutcome,
) -> Result<()> {
    let Some(limited) = &outcome.limited else { return Ok(()) };
    let known = work.tx.limit_window(&limited.resource)?;
    let seen = Sighting {
        run_id: run.asked.id.clone(),
        task_id: attempt.begun.task_id.clone(),
        attempt_id: attempt.begun.id.clone(),
        at: work.now.at,
    };
    let Some(window) = opened(known.as_ref(), limited, (seen, attempt.started_at), work.now) else {
        return Ok(());
    };
    let about = About { task_id: Some(attempt.begun.task_id.clone()), ..crate::run::about(run) };
    forget_old(work, &about, known.is_none())?;
    let message = format!("{} is limited until {} ({})", window.resource, window.reset.at, window.kind());
    work.change(&about, &message, &Change::LimitWindowSet { window: Box::new(window) })?;
    Ok(())
}

/// Writes down that a task waits for a resource, once.
pub(crate) fn begin_wait(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    task_id: &TaskId,
    resource: &str,
) -> Result<()> {
    let is_known = work.tx.limit_waiter(task_id)?.is_some_and(|waiter| waiter.resource == resource);
    // Cleared or forgotten meanwhile.
    let Some(window) = work.tx.limit_window(resource)?.filter(|_| !is_known) else { return Ok(()) };
    let about = About { task_id: Some(task_id.clone()), ..crate::run::about(run) };
    let waits = Change::TaskWaitsForLimit { task_id: task_id.clone(), resource: resource.to_owned() };
    let message = format!("Waits for {}", window.awaited(WaitReason::Reset(Duration::ZERO), work.now));
    work.change(&about, &message, &waits)?;
    Ok(())
}

/// What a task waits for, as far as that is a limit window.
pub(crate) fn awaited(tx: &Tx<'_>, task: &Task, now: &Now) -> Result<Option<LimitWait>> {
    if task.status != Status::Todo {
        return Ok(None);
    }
    let Some(waiter) = tx.limit_waiter(&task.id)? else { return Ok(None) };
    let Some(window) = tx.limit_window(&waiter.resource)? else { return Ok(None) };
    let waits = match admission(tx, &window, &window.seen.attempt_id, now)? {
        WindowAdmission::Wait(waits) => waits,
        WindowAdmission::Start(_) | WindowAdmission::Over => WaitReason::Turn(Duration::ZERO),
    };
    let told = window.awaited(waits, now);
    Ok(Some(LimitWait { resource: waiter.resource, until: window.reset.at, told, since: waiter.since }))
}

fn admission(tx: &Tx<'_>, window: &LimitWindow, attempt: &AttemptId, now: &Now) -> Result<WindowAdmission> {
    let probe = match &window.resuming {
        Some(resuming) => tx.attempt_state(&resuming.probe)?,
        None => None,
    };
    Ok(window.admission(attempt, probe, now))
}

fn conflict_of(
    tx: &Tx<'_>,
    task: &TaskId,
    (window, waits): (LimitWindow, WaitReason),
    now: &Now,
) -> Result<LimitConflict> {
    let waiter = tx.limit_waiter(task)?.filter(|waiter| waiter.resource == window.resource);
    let awaited = window.awaited(waits, now);
    Ok(LimitConflict { window, waits, awaited, since: waiter.map(|waiter| waiter.since) })
}

/// Forgets windows that ended long ago, and the one that ends first where there are too many.
fn forget_old(work: &mut EventWriter<'_, '_>, about: &About, is_new: bool) -> Result<()> {
    let mut known = work.tx.limit_windows(limits::LIMIT_WINDOWS_MAX)?;
    let is_full = is_new && known.len() >= limits::LIMIT_WINDOWS_MAX;
    let most = known.iter().take_while(|window| !window.is_recent(work.now)).count();
    known.truncate(most.max(usize::from(is_full)));
    for window in known {
        end(work, about, &window.resource, None)?;
    }
    Ok(())
}

fn end(work: &mut EventWriter<'_, '_>, about: &About, resource: &str, by: Option<String>) -> Result<()> {
    let message = match &by {
        Some(by) => format!("The limit of {resource} was cleared by {by}"),
        None => format!("The limit of {resource} is over"),
    };
    let ended = Change::LimitWindowEnded { resource: resource.to_owned(), by };
    work.change(about, &message, &ended)?;
    Ok(())
}

/// A window belongs to the store, not to a project.
fn about(resource: &str) -> About {
    about_id(&format!("limit {resource}"))
}
