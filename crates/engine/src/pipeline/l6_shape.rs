//! L6: decides what the executor is given: brief, environment and time.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aocl::Layer;
use contract::aop::needs::Unmet;
use contract::domain::failure_code::FailureCode;
use contract::domain::plan::policy::OnFailure;
use contract::domain::reason::{Reason, Warning, WarningCode};
use contract::domain::time::human_duration;
use contract::secrets::Hidden;

use super::Outcome;
use super::layer::{AttemptChoice, Handed, LayerInput, LayerSpec, Stage, StartFacts};

/// What the executor is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shaped {
    pub(crate) brief: String,
    /// In addition to what every child gets.
    pub(crate) env: BTreeMap<String, String>,
    /// The parts of it that must not be stored or shown.
    pub(crate) hidden: Hidden,
    pub(crate) timeout: Duration,
    /// What people should know about the attempt.
    pub(crate) warnings: Vec<Warning>,
}

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Shape, Stage::Start, run).required();

fn run(input: &LayerInput<'_>) -> Outcome {
    let (facts, brief) = (input.start(), input.view.brief());
    let AttemptChoice { executor, model, fallback, escalated } = facts.choice;
    let spec = &facts.part.spec;
    if let Some(Unmet { code, rule, reason }) = &facts.needs.unmet {
        return Outcome::decided("NOT_MET", format!("{rule}: {reason}")).refuse(Reason::coded(*code, reason));
    }
    let timeout = facts.timeout_max.map_or(spec.timeout(), |max| spec.timeout().min(max));
    let mut env = BTreeMap::new();
    let mut hidden = Hidden::default();
    let configured = facts.executor_env.iter().filter(|(name, _)| !spec.env.contains_key(*name));
    for (name, value) in configured.chain(&spec.env) {
        let resolved = match value.strip_prefix("env:") {
            Some(source) => (facts.lookup)(source),
            None => Some(value.clone()),
        };
        let Some(resolved) = resolved else {
            let reason = format!("{value} is not set in writ's environment");
            let missing = Outcome::decided("ENV_MISSING", &reason);
            return missing.refuse(Reason::coded(FailureCode::PermissionDenied, reason));
        };
        if value.starts_with("env:") {
            hidden.add(&resolved);
        }
        env.insert(name.clone(), resolved);
    }
    env.insert("WRIT_RUN".to_owned(), facts.run.id.to_string());
    env.insert("WRIT_TASK".to_owned(), facts.task.id.to_string());
    env.insert("WRIT_DEPTH".to_owned(), facts.run.depth.to_string());
    env.insert("WRIT_BRIEF".to_owned(), brief.to_owned());
    let with_model = model.map(|model| format!(" with {model}")).unwrap_or_default();
    let reason =
        format!("{}{with_model} for {}, at most {}", executor.as_str(), spec.id, human_duration(timeout));
    let key = |field: &str| format!("C2.Task.t{}.{field}", facts.part.number);
    let mut outcome = profiled(Outcome::decided("SHAPED", reason), facts);
    if let Some(fallback) = fallback {
        outcome = outcome.and("FALLBACK", fallback);
    }
    if let Some(escalated) = escalated {
        outcome = outcome.and("ESCALATED", escalated);
    }
    if spec.policy.on_failure == OnFailure::Retry && spec.retries == 0 {
        let why = "on_failure RETRY has no effect, because max_retries is 0";
        outcome = outcome.and("WITHOUT_EFFECT", why);
    }
    if let Some(model) = model {
        outcome = outcome.set(key("model"), model);
    }
    let warnings = facts.needs.warnings.iter();
    warnings
        .fold(outcome, |outcome, warning| outcome.and("WARNING", warning))
        .set(key("attempt"), facts.attempt_number)
        .set(key("executor"), executor)
        .set(key("timeout_ms"), u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
        .set(key("writes"), &spec.writes)
        .giving(Handed::Launch(Box::new(Shaped {
            brief: brief.to_owned(),
            env,
            hidden,
            timeout,
            warnings: facts.needs.warnings.iter().map(Warning::new).chain(unused(facts)).collect(),
        })))
}

/// Target settings of the TASK that the executor does not support, for the answer.
fn unused(facts: &StartFacts<'_>) -> Vec<Warning> {
    let executor = facts.choice.executor.as_str();
    let profile = facts
        .profile
        .filter(|(_, is_used)| !is_used)
        .map(|(profile, _)| format!("target.execution_profile `{profile}`: {executor} has no such setting"));
    let model = facts
        .unused_model
        .map(|model| format!("target.model `{model}`: the command of {executor} has no {{model}}"));
    let unused = profile.into_iter().chain(model);
    unused.map(|told| Warning::coded(WarningCode::WithoutEffect, told)).collect()
}

fn profiled(outcome: Outcome, facts: &StartFacts<'_>) -> Outcome {
    let executor = facts.part.spec.executor.as_str();
    match facts.profile {
        Some((profile, true)) => {
            outcome.and("EXECUTION_PROFILE", format!("{profile}: passed on to {executor}"))
        }
        Some((profile, false)) => {
            let reason = format!("{profile}: has no effect, because {executor} has no such setting");
            outcome.and("EXECUTION_PROFILE", reason)
        }
        None => outcome,
    }
}

#[cfg(test)]
mod tests;
