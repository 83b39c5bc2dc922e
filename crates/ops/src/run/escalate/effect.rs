//! What follows a change of priority, for the answer: from when on it counts, and with which model.

use contract::domain::plan::PlanTask;
use contract::domain::priority::Priority;
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::plan::upgrade::{NotUpgraded, Upgrades, upgrade};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::record::EventWriter;

/// From when on the new priority counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountsFrom {
    /// The engine that works the run starts it before others from now on.
    Now,
    /// An attempt runs; it is not affected.
    NextAttempt,
    /// Nobody works the run.
    Continued,
}

impl CountsFrom {
    pub fn told(self) -> &'static str {
        match self {
            CountsFrom::Now => "the running engine orders its waiting tasks by it from now on",
            CountsFrom::NextAttempt => {
                "the running attempt is not affected; the new priority applies to the next attempt"
            }
            CountsFrom::Continued => "no engine works the run; it counts when the run is continued",
        }
    }
}

/// What becomes of the model of the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextModel {
    pub executor: String,
    /// The model that the next attempt uses because of the priority; none if the model stays.
    pub upgraded_to: Option<String>,
    /// The same for people, with the reason.
    pub told: String,
}

/// Names of tasks that an answer lists at most.
const WAITS_LISTED_MAX: usize = 20;

pub(super) fn counts_from(work: &mut EventWriter<'_, '_>, run: &Run, task: &Task) -> Result<CountsFrom> {
    if !crate::run::is_worked_by_another(run, work.now, work.view)? {
        return Ok(CountsFrom::Continued);
    }
    Ok(match task.status {
        Status::InProgress => CountsFrom::NextAttempt,
        Status::Todo | Status::Blocked | Status::Done | Status::Failed | Status::Canceled => CountsFrom::Now,
    })
}

pub(super) fn next_model(
    work: &mut EventWriter<'_, '_>,
    upgrades: &Upgrades,
    (task, spec): (&Task, &PlanTask),
    now: Priority,
) -> Result<NextModel> {
    let attempts = work.tx.attempts_of_task(&task.id)?;
    let executor = spec.executor.as_str().to_owned();
    let upgraded = upgrade(upgrades, (spec, now), &attempts);
    let told = match &upgraded {
        Ok(model) => format!("the next attempt uses {model} with {executor}"),
        Err(_) if spec.executor.is_model_free() => format!("{executor} uses no model"),
        Err(NotUpgraded::Alternative(index)) => {
            format!("the next attempt uses alternative {}, with the model that the plan names", index + 1)
        }
        Err(NotUpgraded::NotUrgent) => {
            format!("the model stays, because the plan's own priority is {}", spec.priority)
        }
        Err(NotUpgraded::NotConfigured) => {
            format!("the model stays, because none is configured for {executor} under [escalation.{now}]")
        }
        Err(NotUpgraded::Unavailable(model)) => {
            format!("the model stays, because {model} was not available to an earlier attempt")
        }
    };
    Ok(NextModel { executor, upgraded_to: upgraded.ok().map(str::to_owned), told })
}

pub(super) fn waits_for(work: &mut EventWriter<'_, '_>, task: &Task) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for id in &task.depends_on {
        let needed = work.tx.task(id)?.filter(|needed| needed.status != Status::Done);
        names.extend(needed.and_then(|needed| needed.part).map(|part| part.spec.id));
        if names.len() == WAITS_LISTED_MAX {
            break;
        }
    }
    Ok(names)
}

pub(super) fn warning(old: Priority, new: Priority) -> Option<String> {
    if new == old {
        return Some(format!("the priority is {old} already; nothing changed"));
    }
    (new < old).then(|| format!("{new} is lower than {old}; the task now waits for more urgent ones"))
}
