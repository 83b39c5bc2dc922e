//! A report as the RESPONSE that it came from.

use serde_json::json;

use super::{CostReport, Report};
use crate::aop::header::Extensions;
use crate::aop::response::{
    Agent, CheckpointResult, CostTracking, ErrorDetails, ExecutionSummary, OutputArtifact, ProgressLog,
    Response, TaskStatus, Timing,
};
use crate::aop::task::Provider;
use crate::domain::money::MicroUsd;

impl Report {
    /// The RESPONSE, as far as it was kept. `x_left_out` says how much was not, `x_findings` where writ saw something else.
    pub fn response(&self, session_id: &str, task_id: &str) -> Response {
        let agent = Agent {
            name: self.agent.name.clone(),
            // It is `OTHER` where AOP does not know it.
            provider: Provider::parse(&self.agent.provider).unwrap_or(Provider::Other),
            model: self.agent.model.clone(),
            extensions: None,
        };
        let status = TaskStatus {
            state: self.state,
            final_signal: self.final_signal,
            message: self.message.clone(),
            extensions: None,
        };
        Response {
            execution_summary: self.execution_summary(),
            checkpoint_results: self.checkpoints(),
            error_details: self.error.as_ref().map(|error| ErrorDetails {
                error_code: error.error_code.clone(),
                message: error.message.clone(),
                stack_trace: error.stack_trace.clone(),
                recovery_suggestions: error.recovery_suggestions.clone(),
                extensions: None,
            }),
            timing: self.timing.as_ref().map(|timing| Timing {
                started_at: timing.started_at,
                completed_at: timing.completed_at,
                duration_seconds: timing.duration_seconds,
                retries_attempted: timing.retries_attempted,
                extensions: None,
            }),
            cost_tracking: self.cost.as_ref().map(cost_tracking),
            progress_log: self.progress.as_ref().map(|progress| ProgressLog {
                last_progress_event_at: progress.last_progress_event_at,
                progress_percentage: progress.progress_percentage,
                extensions: None,
            }),
            extensions: self.extensions(),
            ..Response::new(session_id, task_id, agent, status)
        }
    }

    fn execution_summary(&self) -> Option<ExecutionSummary> {
        let is_empty = self.summary.is_none()
            && self.actions.is_empty()
            && self.output_artifacts.is_empty()
            && self.warnings.is_empty()
            && self.errors.is_empty();
        let artifacts = self.output_artifacts.iter().map(|made| OutputArtifact {
            kind: made.kind.clone(),
            path: made.path.clone(),
            status: made.status,
            hash: made.hash.clone(),
            size_bytes: made.size_bytes,
            extensions: None,
        });
        (!is_empty).then(|| ExecutionSummary {
            summary: self.summary.clone(),
            actions: self.actions.clone(),
            output_artifacts: artifacts.collect(),
            warnings: self.warnings.clone(),
            errors: self.errors.clone(),
            extensions: None,
        })
    }

    fn checkpoints(&self) -> Vec<CheckpointResult> {
        let results = self.checkpoint_results.iter().map(|result| CheckpointResult {
            checkpoint_id: result.checkpoint_id.clone(),
            status: result.status,
            validation_output: result.validation_output.clone(),
            evidence: result.evidence.clone(),
            notes: result.notes.clone(),
            extensions: None,
        });
        results.collect()
    }

    fn extensions(&self) -> Option<Extensions> {
        let mut extensions = Extensions::default();
        if self.left_out > 0 {
            extensions.insert("x_left_out".to_owned(), json!(self.left_out));
        }
        if !self.findings.is_empty() {
            extensions.insert("x_findings".to_owned(), json!(self.findings));
        }
        (!extensions.is_empty()).then_some(extensions)
    }
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
