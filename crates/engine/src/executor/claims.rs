//! What an executor claims about its work in its RESPONSE.

use contract::aop::header::SCHEMA_VERSION;
use contract::aop::limits::ACTIONS_SOFT;
use contract::aop::report::report_of;
use contract::aop::response::Response;
use contract::domain::reason::{Warning, WarningCode};
use contract::domain::report::{ExecutorReport, FinalSignal, ReportedState};
use contract::secrets::Hidden;

/// What a RESPONSE claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// `None` if there was no RESPONSE.
    pub(crate) report: Option<Box<ExecutorReport>>,
    /// What its form gives reason to say.
    pub(crate) warnings: Vec<Warning>,
}

impl Claims {
    pub(crate) fn of(response: Response, hidden: &Hidden) -> Self {
        let actions = response.execution_summary.as_ref().map_or(0, |summary| summary.actions.len());
        let many = (actions > ACTIONS_SOFT).then(|| {
            let told = format!(
                "execution_summary.actions has {actions} entries; at most {ACTIONS_SOFT} are recommended"
            );
            Warning::coded(WarningCode::PayloadSize, told)
        });
        let version = (response.schema_version != SCHEMA_VERSION).then(|| {
            let told = format!("the schema_version of the RESPONSE is read as {SCHEMA_VERSION}");
            Warning::coded(WarningCode::WithoutEffect, told)
        });
        let report = report_of(response).bounded(&|text| hidden.clean(text).into_owned());
        Self { report: Some(Box::new(report)), warnings: many.into_iter().chain(version).collect() }
    }

    /// Whether the executor reports only a part of the work as done.
    pub(crate) fn is_partial(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.is_partial())
    }

    /// Whether the executor reports that it gave up.
    pub(crate) fn is_aborted(&self) -> bool {
        self.report.as_ref().is_some_and(|report| {
            report.state == ReportedState::Aborted || report.final_signal == Some(FinalSignal::Aborted)
        })
    }
}

#[cfg(test)]
mod tests {
    use contract::aop::response::{Agent, ExecutionSummary, TaskStatus};
    use contract::aop::task::Provider;

    use super::*;

    fn response(actions: usize) -> Response {
        let (name, model) = ("emma".to_owned(), "m".to_owned());
        let agent = Agent { name, provider: Provider::Other, model, extensions: None };
        let (state, final_signal) = (ReportedState::Completed, Some(FinalSignal::PartialSuccess));
        let status = TaskStatus { state, final_signal, message: None, extensions: None };
        let mut response = Response::new("S", "T", agent, status);
        let actions = vec!["did it".to_owned(); actions];
        response.execution_summary = Some(ExecutionSummary { actions, ..ExecutionSummary::default() });
        response
    }

    #[test]
    fn more_actions_than_recommended_are_a_warning_and_as_many_are_none() {
        let warnings = |actions| Claims::of(response(actions), &Hidden::default()).warnings;
        assert_eq!(warnings(200), []);
        let expected = "execution_summary.actions has 201 entries; at most 200 are recommended";
        assert_eq!(warnings(201), [Warning::coded(WarningCode::PayloadSize, expected)]);
    }

    #[test]
    fn only_a_response_can_claim_a_part() {
        assert!(Claims::of(response(1), &Hidden::default()).is_partial());
        assert!(!Claims::default().is_partial() && !Claims::default().is_aborted());
    }
}
