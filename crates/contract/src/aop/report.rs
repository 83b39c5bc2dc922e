//! A RESPONSE as the report that writ stores, and back.

mod compare;
mod print;

use super::response::{CheckpointResult, CostTracking, ErrorDetails, OutputArtifact, Response, Timing};
use crate::domain::money::MicroUsd;
use crate::domain::report::{
    AgentReport, ArtifactReport, CheckpointReport, CostReport, ErrorReport, ExecutorReport, ProgressReport,
    TimingReport,
};

pub use compare::{KnownOfAttempt, compare};
pub use print::response_of;

/// The content of a RESPONSE.
pub fn report_of(response: Response) -> ExecutorReport {
    let summary = response.execution_summary.unwrap_or_default();
    let agent = AgentReport {
        name: response.agent.name,
        provider: response.agent.provider.as_str().to_owned(),
        model: response.agent.model,
    };
    let checkpoints = response.checkpoint_results.into_iter();
    let artifacts = summary.output_artifacts.into_iter();
    ExecutorReport {
        final_signal: response.task_status.final_signal,
        message: response.task_status.message,
        summary: summary.summary,
        error: response.error_details.map(error_report),
        timing: response.timing.map(timing_report),
        progress: response.progress_log.map(|log| ProgressReport {
            last_progress_event_at: log.last_progress_event_at,
            progress_percentage: log.progress_percentage,
        }),
        cost: response.cost_tracking.map(cost_report),
        checkpoint_results: checkpoints.map(checkpoint_report).collect(),
        output_artifacts: artifacts.map(artifact_report).collect(),
        warnings: summary.warnings,
        errors: summary.errors,
        actions: summary.actions,
        ..ExecutorReport::new(response.task_status.state, agent)
    }
}

fn checkpoint_report(result: CheckpointResult) -> CheckpointReport {
    CheckpointReport {
        checkpoint_id: result.checkpoint_id,
        status: result.status,
        validation_output: result.validation_output,
        evidence: result.evidence,
        notes: result.notes,
    }
}

fn artifact_report(made: OutputArtifact) -> ArtifactReport {
    let (kind, path, hash) = (made.kind, made.path, made.hash);
    ArtifactReport { kind, path, status: made.status, hash, size_bytes: made.size_bytes, seen: None }
}

fn timing_report(timing: Timing) -> TimingReport {
    TimingReport {
        started_at: timing.started_at,
        completed_at: timing.completed_at,
        duration_seconds: timing.duration_seconds,
        retries_attempted: timing.retries_attempted,
        seen_started_at: None,
        seen_ended_at: None,
    }
}

fn cost_report(tracking: CostTracking) -> CostReport {
    CostReport {
        estimated: tracking.estimated_cost_usd.and_then(MicroUsd::from_dollars),
        actual: tracking.actual_cost_usd.and_then(MicroUsd::from_dollars),
        tokens_input: tracking.tokens_input,
        tokens_output: tracking.tokens_output,
        model_pricing_tier: tracking.model_pricing_tier,
    }
}

fn error_report(details: ErrorDetails) -> ErrorReport {
    ErrorReport {
        stack_trace: details.stack_trace,
        recovery_suggestions: details.recovery_suggestions,
        ..ErrorReport::new(&details.error_code, &details.message)
    }
}

#[cfg(test)]
mod tests;
