//! The guard rails of a TASK, and how an attempt stood against them.

use super::{CheckResult, CheckType, GuardRailCheck};
use crate::aop::extra::Requirements;
use crate::aop::task::Task;
use crate::aop::{effective, parse_task};
use crate::domain::attempt::{AttemptOutcome, AttemptState};
use crate::domain::failure_code::FailureCode;
use crate::domain::money::MicroUsd;

/// The result of one check.
pub(super) struct Check(pub(super) GuardRailCheck);

impl Check {
    pub(super) fn is_failed(&self) -> bool {
        self.0.result == CheckResult::Fail
    }

    fn passed(check_type: CheckType) -> Self {
        Self::new(check_type, CheckResult::Pass, None, None)
    }

    fn warned(check_type: CheckType, details: String) -> Self {
        Self::new(check_type, CheckResult::Warn, Some(details), None)
    }

    fn failed(check_type: CheckType, outcome: &AttemptOutcome, code: FailureCode) -> Self {
        let code = outcome.code.clone().unwrap_or_else(|| code.as_str().to_owned());
        let details = Some(outcome.message.clone()).filter(|message| !message.is_empty());
        Self::new(check_type, CheckResult::Fail, details, Some(code))
    }

    fn new(
        check_type: CheckType,
        result: CheckResult,
        details: Option<String>,
        code: Option<String>,
    ) -> Self {
        Self(GuardRailCheck { check_type, result, details, error_code: code })
    }
}

/// The limits of a TASK that is sent. One above the hard limits was refused when it was submitted.
pub(super) fn of_payload(sent: &Task) -> Option<Check> {
    let bytes = serde_json::to_vec(sent).ok()?;
    let soft = FailureCode::PayloadSizeWarning.as_str();
    let (_, warnings) = parse_task(&bytes).ok()?;
    let over: Vec<String> = warnings.into_iter().filter(|it| it.rule == soft).map(|it| it.message).collect();
    Some(if over.is_empty() {
        Check::passed(CheckType::PayloadLimit)
    } else {
        let details = Some(over.join("; "));
        Check::new(CheckType::PayloadLimit, CheckResult::Warn, details, Some(soft.to_owned()))
    })
}

/// What the end of an attempt shows about each guard rail.
pub(super) fn of_end(
    message: Option<&Task>,
    state: AttemptState,
    outcome: &AttemptOutcome,
    spent: MicroUsd,
) -> Vec<Check> {
    let mut checks = vec![timeout(outcome)];
    let max = message.and_then(|task| effective::budget(task).cost_max);
    checks.extend(max.map(|max| budget(outcome, spent, max)));
    checks.push(access(outcome));
    let required = Requirements::of(message.and_then(|task| task.guard_rails.as_ref()));
    let report = outcome.report.as_deref();
    let has_signal = report.is_some_and(|report| report.final_signal.is_some());
    let is_filled = |summary: &String| !summary.trim().is_empty();
    let has_report = report
        .is_some_and(|report| report.summary.as_ref().is_some_and(is_filled) && !report.actions.is_empty());
    let answer = |check_type, is_there: bool, what: &str| match state {
        _ if is_there => Check::passed(check_type),
        AttemptState::Failed => Check::failed(check_type, outcome, FailureCode::MalformedResponse),
        _ => Check::warned(check_type, format!("its executor gave no {what}")),
    };
    if required.final_signal {
        checks.push(answer(CheckType::FinalSignal, has_signal, "final signal"));
    }
    if required.minimal_report {
        checks.push(answer(CheckType::MinimalReport, has_report, "summary with actions"));
    }
    checks
}

fn is_code(outcome: &AttemptOutcome, code: FailureCode) -> bool {
    outcome.code.as_deref() == Some(code.as_str())
}

fn timeout(outcome: &AttemptOutcome) -> Check {
    if is_code(outcome, FailureCode::Timeout) || is_code(outcome, FailureCode::HeartbeatFailure) {
        return Check::failed(CheckType::Timeout, outcome, FailureCode::Timeout);
    }
    match outcome.late_ms {
        Some(late_ms) => {
            Check::warned(CheckType::Timeout, format!("it ended {late_ms} ms after its timeout"))
        }
        None => Check::passed(CheckType::Timeout),
    }
}

fn budget(outcome: &AttemptOutcome, spent: MicroUsd, max: MicroUsd) -> Check {
    if spent > max || is_code(outcome, FailureCode::CostLimitExceeded) {
        let details = Some(format!("{spent} of {max} is spent"));
        let code = Some(FailureCode::CostLimitExceeded.as_str().to_owned());
        return Check::new(CheckType::Budget, CheckResult::Fail, details, code);
    }
    match outcome.known_cost() {
        Some(_) => Check::passed(CheckType::Budget),
        None => Check::warned(CheckType::Budget, "cost unknown".to_owned()),
    }
}

fn access(outcome: &AttemptOutcome) -> Check {
    if is_code(outcome, FailureCode::PermissionDenied) {
        return Check::failed(CheckType::Access, outcome, FailureCode::PermissionDenied);
    }
    match &outcome.outside {
        Some(_) => {
            let details = "files changed outside of what it may write".to_owned();
            Check::warned(CheckType::Access, details)
        }
        None => Check::passed(CheckType::Access),
    }
}
