//! What an executor reports about its work in a RESPONSE, beside what writ saw of it.

mod compare;
mod keep;
mod print;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::money::MicroUsd;
use super::time::Timestamp;
use crate::aop::response::{ArtifactStatus, FinalSignal, Response, State};
use crate::aop::task::CheckpointStatus;

pub use compare::Known;
use keep::Keeper;

/// The RESPONSE of an executor, bounded and without secrets. Nothing in it is more than a claim, except what the
/// fields named `seen` and the findings say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_signal: Option<FinalSignal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The name, provider and model of the agent.
    pub agent: AgentReport,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_artifacts: Vec<ArtifactReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_results: Vec<CheckpointReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostReport>,
    /// Where a claim differs from what writ saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Difference>,
    /// Texts and entries that were cut or left out, because the report has a limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    pub name: String,
    pub provider: String,
    pub model: String,
}

/// A file that the executor says it made, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactReport {
    #[serde(rename = "type")]
    pub kind: String,
    pub path: String,
    pub status: ArtifactStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// What writ saw there when the executor had ended. `None` for what is not a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<ArtifactSeen>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactSeen {
    /// `None` if writ does not know what was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ArtifactStatus>,
    /// `None` if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Why the file could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What the executor says about a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointReport {
    pub checkpoint_id: String,
    pub status: CheckpointStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// A checkpoint of a TASK, as writ saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointSeen {
    pub checkpoint_id: String,
    pub phase_id: String,
    /// `PENDING` if nothing of it was run.
    pub status: CheckpointStatus,
    /// Why it did not pass, or was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// As the executor wrote it.
    pub error_code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery_suggestions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingReport {
    pub started_at: Timestamp,
    pub completed_at: Timestamp,
    pub duration_seconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_attempted: Option<u64>,
    /// When writ started the executor, and when it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_progress_event_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_percentage: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_pricing_tier: Option<String>,
}

/// A claim that is not what writ saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Which claim: `output_artifacts[src/a.rs].hash`.
    pub what: String,
    pub claimed: String,
    pub seen: String,
}

impl Difference {
    pub fn new(what: impl Into<String>, claimed: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { what: what.into(), claimed: claimed.into(), seen: seen.into() }
    }

    /// For people, in one line.
    pub fn told(&self) -> String {
        format!("{}: claimed {}, seen {}", self.what, self.claimed, self.seen)
    }
}

impl Report {
    /// What is kept of a RESPONSE. `clean` removes secrets from a text.
    pub fn of(response: &Response, clean: &dyn Fn(&str) -> String) -> Self {
        let mut keep = Keeper::new(clean);
        let summary = response.execution_summary.clone().unwrap_or_default();
        let mut report = Self {
            state: response.task_status.state,
            final_signal: response.task_status.final_signal,
            message: keep.maybe(response.task_status.message.as_deref()),
            agent: AgentReport {
                name: keep.text(&response.agent.name),
                provider: response.agent.provider.as_str().to_owned(),
                model: keep.text(&response.agent.model),
            },
            summary: keep.maybe(summary.summary.as_deref()),
            error: error(response, &mut keep),
            timing: timing(response),
            progress: progress(response),
            cost: cost(response, &mut keep),
            // The lists come last: what does not fit is left out of the longest.
            checkpoint_results: keep.list(&response.checkpoint_results, |keep, result| CheckpointReport {
                checkpoint_id: keep.text(&result.checkpoint_id),
                status: result.status,
                validation_output: keep.maybe(result.validation_output.as_deref()),
                evidence: keep.texts(&result.evidence),
                notes: keep.maybe(result.notes.as_deref()),
            }),
            output_artifacts: keep.list(&summary.output_artifacts, |keep, made| ArtifactReport {
                kind: keep.text(&made.kind),
                path: keep.text(&made.path),
                status: made.status,
                hash: keep.maybe(made.hash.as_deref()),
                size_bytes: made.size_bytes,
                seen: None,
            }),
            warnings: keep.texts(&summary.warnings),
            errors: keep.texts(&summary.errors),
            actions: keep.texts(&summary.actions),
            findings: Vec::new(),
            left_out: 0,
        };
        report.left_out = keep.left_out;
        report
    }

    /// Notes that the executor claims success and writ saw none.
    pub fn overturn(&mut self, seen: &str) {
        let claims_success =
            matches!(self.final_signal, Some(FinalSignal::Success | FinalSignal::PartialSuccess) | None);
        if self.state == State::Completed && claims_success {
            let claimed = self.final_signal.map_or(self.state.as_str(), FinalSignal::as_str);
            self.findings.push(Difference::new("task_status", claimed, format!("FAILURE: {seen}")));
        }
    }

    /// Whether the executor itself says that only a part of the work is done.
    pub fn is_partial(&self) -> bool {
        self.final_signal == Some(FinalSignal::PartialSuccess)
    }
}

fn error(response: &Response, keep: &mut Keeper<'_>) -> Option<ErrorReport> {
    response.error_details.as_ref().map(|details| ErrorReport {
        error_code: keep.text(&details.error_code),
        message: keep.text(&details.message),
        stack_trace: keep.maybe(details.stack_trace.as_deref()),
        recovery_suggestions: keep.texts(&details.recovery_suggestions),
    })
}

fn timing(response: &Response) -> Option<TimingReport> {
    response.timing.as_ref().map(|timing| TimingReport {
        started_at: timing.started_at,
        completed_at: timing.completed_at,
        duration_seconds: timing.duration_seconds,
        retries_attempted: timing.retries_attempted,
        seen_started_at: None,
        seen_ended_at: None,
    })
}

fn progress(response: &Response) -> Option<ProgressReport> {
    response.progress_log.as_ref().map(|log| ProgressReport {
        last_progress_event_at: log.last_progress_event_at,
        progress_percentage: log.progress_percentage,
    })
}

fn cost(response: &Response, keep: &mut Keeper<'_>) -> Option<CostReport> {
    response.cost_tracking.as_ref().map(|tracking| CostReport {
        estimated: tracking.estimated_cost_usd.and_then(MicroUsd::from_dollars),
        actual: tracking.actual_cost_usd.and_then(MicroUsd::from_dollars),
        tokens_input: tracking.tokens_input,
        tokens_output: tracking.tokens_output,
        model_pricing_tier: keep.maybe(tracking.model_pricing_tier.as_deref()),
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
