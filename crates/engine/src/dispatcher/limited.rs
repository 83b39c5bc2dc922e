//! Provider limits: an alternative takes over, or the task waits until the reset time.

use contract::aop::effective::model::{is_chosen, is_triggered};
use contract::domain::attempt::{Limited, NewAttempt};
use contract::domain::failure_code::FailureCode;
use contract::domain::limit_window::resource;
use contract::domain::reason::Reason;
use ops::Result;
use ops::crew::Obstacle;
use ops::limit_window::LimitConflict;
use ops::run::journal::JournalEntry;

use super::engine_run::EngineRun;
use super::selection::{Selected, alternative, selected};
use super::task_work::TaskWork;
use super::{Dispatcher, millis};

/// Whether a provider takes the next attempt of a task now.
pub(super) enum Availability {
    Available(Selected),
    Limited(Box<LimitConflict>),
}

/// What the next attempt of a task is made with, given what providers refuse now: an alternative that a refusal
/// triggers takes the place of what is limited. Otherwise what is waited for.
pub(super) fn available(engine: &mut EngineRun<'_>, work: &TaskWork) -> Result<Availability> {
    let first = selected(engine.settings, work);
    let Some(limit) = conflict(engine, work, &first)? else { return Ok(Availability::Available(first)) };
    let spec = work.spec();
    let later = first.alternative.and_then(|index| usize::try_from(index).ok()).map_or(0, |index| index + 1);
    let others = spec.alternatives.iter().enumerate().skip(later);
    let triggered =
        others.filter(|(_, other)| is_triggered(other.trigger, FailureCode::ModelUnavailable, true));
    let others: Vec<usize> = triggered.map(|(index, _)| index).collect();
    for index in others {
        let other = alternative(
            engine.settings,
            work,
            index,
            &format!("because {} is limited", limit.window.resource),
        );
        if conflict(engine, work, &other)?.is_none() {
            return Ok(Availability::Available(other));
        }
    }
    Ok(Availability::Limited(Box::new(limit)))
}

fn conflict(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    selected: &Selected,
) -> Result<Option<LimitConflict>> {
    let uses = (selected.executor.as_str(), selected.model.as_deref());
    ops::limit_window::conflict(engine.cx, &work.task.id, uses)
}

impl Dispatcher<'_> {
    /// The task waits until its provider takes work again, or fails if that is too long. The store knows that it waits, so
    /// that everybody can see it and the next engine goes on waiting.
    pub(super) fn wait_for_limit(&mut self, task: usize, conflict: Box<LimitConflict>) -> Result<()> {
        let now = self.engine.cx.now();
        let longest = self.engine.settings.waits.provider;
        let mark = self.engine.pipeline.mark();
        if conflict.exceeds(longest, &now) {
            self.tasks[task].clear_wait();
            let reason = Reason::coded(FailureCode::ModelUnavailable, conflict.window.given_up(longest));
            return self.refuse(task, reason, mark);
        }
        if conflict.since.is_none() {
            let (task_id, resource) = (self.tasks[task].task.id.clone(), conflict.window.resource.clone());
            self.engine.note(JournalEntry::WaitForLimit { task_id, resource });
            self.engine.commit_unless_moved(mark)?;
        }
        let look_ms = millis(conflict.next_look()).max(1);
        self.board.set_not_before(task, now.boot.millis.saturating_add(look_ms));
        self.wait_for(task, Obstacle::Limit(conflict));
        Ok(())
    }
}

/// What a refused attempt has used up: the model alone, where the provider names it. `None` if no other task uses it.
pub(super) fn with_resource(attempt: &NewAttempt, limited: Limited) -> Option<Limited> {
    let model = attempt.model.as_deref().filter(|model| is_chosen(model));
    let resource = resource(&limited.resource, model, &limited.reason)?;
    Some(Limited { resource, ..limited })
}
