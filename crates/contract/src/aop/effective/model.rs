//! Which model a TASK names, and which failures an alternative one is for.

use crate::domain::failure_code::FailureCode;
use crate::domain::plan::policy::FallbackTrigger;

/// What TASKs say for a model that they do not choose.
const UNCHOSEN: &[&str] = &["unspecified", "default", "none", "auto", "any"];

/// Whether this is the name of a model.
pub fn is_chosen(model: &str) -> bool {
    !model.is_empty() && !UNCHOSEN.contains(&model)
}

/// Errors that the same model would most likely repeat.
pub fn is_critical(failure: FailureCode) -> bool {
    matches!(
        failure,
        FailureCode::ProcessCrash
            | FailureCode::ModelUnavailable
            | FailureCode::AgentNotFound
            | FailureCode::PermissionDenied
            | FailureCode::ContextOverflow
    )
}

/// Whether an alternative is used after this failure. `are_spent` says that the model in use gets no more retries.
pub fn is_triggered(trigger: FallbackTrigger, failure: FailureCode, are_spent: bool) -> bool {
    let fits = match trigger {
        FallbackTrigger::FirstError => return true,
        FallbackTrigger::AllErrors => true,
        FallbackTrigger::Timeout => matches!(failure, FailureCode::Timeout | FailureCode::HeartbeatFailure),
        FallbackTrigger::CriticalError => is_critical(failure),
        FallbackTrigger::CostLimitExceeded => failure == FailureCode::CostLimitExceeded,
    };
    fits && are_spent
}
