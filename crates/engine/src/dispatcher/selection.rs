//! Which executor and model the next attempt of a task uses.

use contract::domain::attempt::{Attempt, Dispatch, SessionTotal};
use contract::domain::executor::ExecutorName;
use contract::domain::failure_code::FailureCode;
use contract::domain::plan::{Alternative, PlanTask};
use contract::domain::priority::Priority;
use contract::plan::choice::{Choice, Overspent, TaskStanding, standing};
use contract::plan::upgrade::upgrade;
use ops::{Context, Result};

use super::task_work::TaskWork;
use crate::settings::Settings;

/// What an attempt is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    pub(super) executor: ExecutorName,
    pub(super) command: Vec<String>,
    pub(super) model: Option<String>,
    /// Which of the task's alternatives it is; `None` for what the task itself names.
    pub(super) alternative: Option<u32>,
    /// Why it is not the same as before.
    pub(super) fallback: Option<String>,
    /// Why it is not the model that the task names.
    pub(super) escalated: Option<String>,
}

impl Selected {
    fn of(spec: &PlanTask, alternative: Option<usize>) -> Self {
        match alternative.and_then(|index| Some((index, spec.alternatives.get(index)?))) {
            None => Self {
                executor: spec.executor.clone(),
                command: spec.command.clone(),
                model: spec.model.clone(),
                alternative: None,
                fallback: None,
                escalated: None,
            },
            Some((index, Alternative { executor, command, model, .. })) => Self {
                executor: executor.clone(),
                command: command.clone(),
                model: model.clone(),
                alternative: u32::try_from(index).ok(),
                fallback: None,
                escalated: None,
            },
        }
    }

    /// `model` of `executor`, or the executor alone.
    pub(super) fn told(&self) -> String {
        match &self.model {
            Some(model) => format!("{model} with {}", self.executor),
            None => self.executor.to_string(),
        }
    }
}

/// What the next attempt of a task is made with, given its attempts so far.
pub(super) fn next(spec: &PlanTask, standing: &TaskStanding, failure: Option<&str>) -> Selected {
    match standing.choice {
        Some(Choice::Alternative(index)) => {
            let selected = Selected::of(spec, Some(index));
            let why = format!("after {}", failure.unwrap_or("a failure"));
            Selected { fallback: Some(fallback(spec, &selected, index, &why)), ..selected }
        }
        Some(Choice::GiveUp(_) | Choice::Retry) | None => Selected::of(spec, standing.next_alternative()),
    }
}

fn fallback(spec: &PlanTask, selected: &Selected, index: usize, why: &str) -> String {
    let trigger = spec.alternatives.get(index).map_or("", |other| other.trigger.as_str());
    let (number, all) = (index + 1, spec.alternatives.len());
    format!("{} {why}, alternative {number} of {all}, for {trigger}", selected.told())
}

/// What the next attempt of a task is made with.
pub(super) fn selected(settings: &Settings, work: &TaskWork) -> Selected {
    let (spec, attempts) = (work.spec(), &work.attempts);
    let failure = attempts.last().and_then(|last| last.outcome.as_ref()?.code.as_deref());
    let next = next(spec, &standing(spec, attempts), failure);
    escalated(settings, work, with_usual_model(settings, next))
}

/// The model that is configured for tasks that were made more urgent, where this one was.
fn escalated(settings: &Settings, work: &TaskWork, mut selected: Selected) -> Selected {
    let (spec, now) = (work.spec(), Priority::from_number(work.task.priority));
    let model = upgrade(&settings.models.upgrades, (spec, now), &work.attempts);
    let Some(model) = model.ok().filter(|model| selected.model.as_deref() != Some(model)) else {
        return selected;
    };
    let before = selected.model.replace(model.to_owned());
    let instead = before.map(|before| format!(" instead of {before}")).unwrap_or_default();
    selected.escalated = Some(format!("{}{instead}, because its priority is {now}", selected.told()));
    selected
}

/// How a submitted TASK differs for an attempt. It is decided once, for the executor and for the log.
pub(super) fn dispatch(
    work: &TaskWork,
    number: i64,
    selected: &Selected,
    brief: &str,
) -> Option<Box<Dispatch>> {
    let spec = work.spec();
    spec.aop.as_ref()?;
    let now = Priority::from_number(work.task.priority);
    Some(Box::new(Dispatch {
        priority: Some(now).filter(|now| *now != spec.priority),
        model: selected.model.clone().filter(|_| selected.escalated.is_some()),
        // The author wrote everything that the first attempt has to know; only a later one needs more.
        brief: (number > 1).then(|| contract::secrets::scrub(brief).into_owned()),
    }))
}

/// One of the task's alternatives, and why it is used.
pub(super) fn alternative(settings: &Settings, work: &TaskWork, index: usize, why: &str) -> Selected {
    let spec = work.spec();
    let selected = Selected::of(spec, Some(index));
    let fallback = Some(fallback(spec, &selected, index, why));
    with_usual_model(settings, Selected { fallback, ..selected })
}

/// Why the budget of a task allows no further attempt. What a person settled is known.
pub(super) fn overspent(cx: &mut Context, work: &TaskWork) -> Result<Option<Overspent>> {
    let delegated = ops::budget::delegated(cx, &work.task)?;
    let spec = work.spec();
    let standing = standing(spec, &work.attempts).with_delegated(spec.budget, delegated);
    let Some(overspent) = standing.overspent(spec.budget) else { return Ok(None) };
    let is_settled = overspent.is_unknown() && ops::budget::is_settled(cx, &work.task)?;
    Ok(Some(overspent).filter(|_| !is_settled))
}

/// The model that is configured for the executor, where none is named.
fn with_usual_model(settings: &Settings, mut selected: Selected) -> Selected {
    let executor = settings.executors.find(&selected.executor);
    let usual = executor.and_then(|executor| executor.configured().model.clone());
    selected.model = selected.model.take().or(usual);
    selected
}

/// The executor's own conversation that the next attempt can go on with: that of the last one, if it was made with
/// the same.
pub(super) fn resumable(work: &TaskWork, selected: &Selected) -> Option<String> {
    let last = work.attempts.last()?;
    let is_same = last.begun.executor == selected.executor.as_str()
        && last.begun.alternative == selected.alternative
        && last.begun.model == selected.model;
    if is_same { conversation(last) } else { None }
}

/// The conversation that the next attempt goes on with.
pub(crate) fn next_conversation(settings: &Settings, work: &TaskWork) -> Option<String> {
    resumable(work, &selected(settings, work))
}

/// What a conversation had used when an attempt last reported it.
pub(super) fn session_total<'w>(work: &'w TaskWork, session: &str) -> Option<&'w SessionTotal> {
    let outcomes = work.attempts.iter().rev().filter_map(|attempt| attempt.outcome.as_ref());
    let mut of_session = outcomes.filter(|outcome| outcome.agent_session.as_deref() == Some(session));
    of_session.find_map(|outcome| outcome.session_total.as_ref())
}

/// The conversation of an attempt, unless it is too long to go on.
fn conversation(last: &Attempt) -> Option<String> {
    match &last.outcome {
        Some(outcome) if outcome.code.as_deref() == Some(FailureCode::ContextOverflow.as_str()) => None,
        Some(outcome) => outcome.agent_session.clone(),
        None => last.begun.agent_session.clone(),
    }
}

#[cfg(test)]
mod tests;
