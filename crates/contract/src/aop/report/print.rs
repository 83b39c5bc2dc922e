//! A stored report as the RESPONSE that it came from.

use serde_json::json;

use crate::aop::header::Extensions;
use crate::aop::response::{
    Agent, CheckpointResult, CostTracking, ErrorDetails, ExecutionSummary, OutputArtifact, ProgressLog,
    Response, TaskStatus, Timing,
};
use crate::aop::task::Provider;
use crate::domain::money::MicroUsd;
use crate::domain::report::{CostReport, ExecutorReport};

/// The RESPONSE, as far as it was kept. `x_left_out` says how much was not, `x_findings` where writ saw something else.
pub fn response_of(report: &ExecutorReport, session_id: &str, task_id: &str) -> Response {
    let agent = Agent {
        name: report.agent.name.clone(),
        // It is `OTHER` where AOP does not know it.
        provider: Provider::parse(&report.agent.provider).unwrap_or(Provider::Other),
        model: report.agent.model.clone(),
        extensions: None,
    };
    let status = TaskStatus {
        state: report.state,
        final_signal: report.final_signal,
        message: report.message.clone(),
        extensions: None,
    };
    Response {
        execution_summary: execution_summary(report),
        checkpoint_results: checkpoints(report),
        error_details: report.error.as_ref().map(|error| ErrorDetails {
            error_code: error.error_code.clone(),
            message: error.message.clone(),
            stack_trace: error.stack_trace.clone(),
            recovery_suggestions: error.recovery_suggestions.clone(),
            extensions: None,
        }),
        timing: report.timing.as_ref().map(|timing| Timing {
            started_at: timing.started_at,
            completed_at: timing.completed_at,
            duration_seconds: timing.duration_seconds,
            retries_attempted: timing.retries_attempted,
            extensions: None,
        }),
        cost_tracking: report.cost.as_ref().map(cost_tracking),
        progress_log: report.progress.as_ref().map(|progress| ProgressLog {
            last_progress_event_at: progress.last_progress_event_at,
            progress_percentage: progress.progress_percentage,
            extensions: None,
        }),
        extensions: extensions(report),
        ..Response::new(session_id, task_id, agent, status)
    }
}

fn execution_summary(report: &ExecutorReport) -> Option<ExecutionSummary> {
    let is_empty = report.summary.is_none()
        && report.actions.is_empty()
        && report.output_artifacts.is_empty()
        && report.warnings.is_empty()
        && report.errors.is_empty();
    let artifacts = report.output_artifacts.iter().map(|made| OutputArtifact {
        kind: made.kind.clone(),
        path: made.path.clone(),
        status: made.status,
        hash: made.hash.clone(),
        size_bytes: made.size_bytes,
        extensions: None,
    });
    (!is_empty).then(|| ExecutionSummary {
        summary: report.summary.clone(),
        actions: report.actions.clone(),
        output_artifacts: artifacts.collect(),
        warnings: report.warnings.clone(),
        errors: report.errors.clone(),
        extensions: None,
    })
}

fn checkpoints(report: &ExecutorReport) -> Vec<CheckpointResult> {
    let results = report.checkpoint_results.iter().map(|result| CheckpointResult {
        checkpoint_id: result.checkpoint_id.clone(),
        status: result.status,
        validation_output: result.validation_output.clone(),
        evidence: result.evidence.clone(),
        notes: result.notes.clone(),
        extensions: None,
    });
    results.collect()
}

fn extensions(report: &ExecutorReport) -> Option<Extensions> {
    let mut extensions = Extensions::default();
    if report.left_out > 0 {
        extensions.insert("x_left_out".to_owned(), json!(report.left_out));
    }
    if !report.findings.is_empty() {
        extensions.insert("x_findings".to_owned(), json!(report.findings));
    }
    (!extensions.is_empty()).then_some(extensions)
}

fn cost_tracking(cost: &CostReport) -> CostTracking {
    CostTracking {
        estimated_cost_usd: cost.estimated.map(MicroUsd::dollars),
        actual_cost_usd: cost.actual.map(MicroUsd::dollars),
        tokens_input: cost.tokens_input,
        tokens_output: cost.tokens_output,
        model_pricing_tier: cost.model_pricing_tier.clone(),
        extensions: None,
    }
}
