//! Which alternative model is used after a failure.

use crate::aop::codes::Code;
use crate::aop::task::{FallbackTrigger, Task};

/// The error and what was tried so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed {
    pub failure: Code,
    /// Whether the retries of the current model are used up.
    pub are_spent: bool,
    /// How many entries of the list were tried. The walk never goes back.
    pub tried: usize,
}

/// The index of the alternative to use now. `None` while retries are left, unless one is triggered by the first error.
pub fn next(task: &Task, failed: Failed) -> Option<usize> {
    let listed = task.execution_policy.as_ref()?.alternative_models.iter().enumerate().skip(failed.tried);
    listed.filter(|(_, model)| matches(model.fallback_trigger, failed)).map(|(index, _)| index).next()
}

/// The code of a task when all alternatives have failed.
pub fn final_code(task: &Task, failure: Code) -> Code {
    let had_choice =
        task.execution_policy.as_ref().is_some_and(|policy| !policy.alternative_models.is_empty());
    if had_choice { Code::AllModelsExhausted } else { failure }
}

/// Errors that the same model would most likely repeat.
pub fn is_critical(failure: Code) -> bool {
    matches!(
        failure,
        Code::ProcessCrash
            | Code::ModelUnavailable
            | Code::AgentNotFound
            | Code::PermissionDenied
            | Code::ContextOverflow
    )
}

fn matches(trigger: FallbackTrigger, failed: Failed) -> bool {
    let fits = match trigger {
        FallbackTrigger::FirstError => return true,
        FallbackTrigger::AllErrors => true,
        FallbackTrigger::Timeout => matches!(failed.failure, Code::Timeout | Code::HeartbeatFailure),
        FallbackTrigger::CriticalError => is_critical(failed.failure),
        FallbackTrigger::CostLimitExceeded => failed.failure == Code::CostLimitExceeded,
    };
    fits && failed.are_spent
}
