//! What a plan says about failures and silence.

use super::super::executor::{self, GivenFields, KnownExecutor};
use super::super::shapes::{AfterFailure, Command, FailureKind, Length, OnSilence, RawAlternative};
use crate::domain::executor::ExecutorName;
use crate::domain::plan::policy::{
    FallbackTrigger, HeartbeatPolicy, OnFailure, OnHeartbeatFailure, TaskPolicy,
};
use crate::domain::plan::{Alternative, PlanTask};
use crate::finding::Findings;

/// What a task with a heartbeat and a rule for failures means.
pub(super) fn policy(
    heartbeat: Option<&Length>,
    on_silence: Option<OnSilence>,
    on_failure: Option<AfterFailure>,
    (at, findings): (&str, &mut Findings),
) -> TaskPolicy {
    if heartbeat.is_none() && on_silence.is_some() {
        let message = "has no effect without `heartbeat`";
        findings.push(format!("{at}.on_silence"), "unused", message);
    }
    let rule = match on_silence.unwrap_or(OnSilence::Abort) {
        OnSilence::Abort => OnHeartbeatFailure::Abort,
        OnSilence::Warn => OnHeartbeatFailure::Warn,
        OnSilence::Record => OnHeartbeatFailure::Continue,
    };
    let on_failure = match on_failure.unwrap_or(AfterFailure::Continue) {
        AfterFailure::Continue => OnFailure::ReportAndContinue,
        AfterFailure::Abort => OnFailure::AbortSession,
    };
    let heartbeat = heartbeat.map(|length| HeartbeatPolicy {
        interval_ms: length.millis(),
        missed_max: 1,
        on_failure: rule,
    });
    TaskPolicy { heartbeat, on_failure, ..TaskPolicy::default() }
}

/// The alternatives of a task. What they do not say is as in the task.
pub(super) fn alternatives(
    raw: Vec<RawAlternative>,
    task: PlanTask,
    known: &[KnownExecutor],
    (at, findings): (&str, &mut Findings),
) -> PlanTask {
    let finish = |(index, raw): (usize, RawAlternative)| {
        let at = format!("{at}.alternatives[{index}]");
        let executor: ExecutorName = raw.executor.unwrap_or_else(|| task.executor.clone());
        // The command of one executor means nothing to another.
        let inherited = if executor == task.executor { task.command.clone() } else { Vec::new() };
        let given = GivenFields {
            prompt: task.prompt.is_some(),
            command: raw.command.is_some() || !inherited.is_empty(),
            model: raw.model.is_some(),
        };
        executor::check(&executor, given, known, &at, findings);
        let path = format!("{at}.command");
        let command = raw.command.map(|command: Command| command.arguments(task.shell, &path, findings));
        Alternative {
            executor,
            command: command.unwrap_or(inherited),
            model: raw.model,
            trigger: match raw.on.unwrap_or(FailureKind::AllErrors) {
                FailureKind::Timeout => FallbackTrigger::Timeout,
                FailureKind::FirstError => FallbackTrigger::FirstError,
                FailureKind::CriticalError => FallbackTrigger::CriticalError,
                FailureKind::AllErrors => FallbackTrigger::AllErrors,
                FailureKind::CostLimit => FallbackTrigger::CostLimitExceeded,
            },
        }
    };
    let alternatives = raw.into_iter().enumerate().map(finish).collect();
    PlanTask { alternatives, ..task }
}
