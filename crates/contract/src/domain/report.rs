//! What an executor reports about its work, beside what writ saw of it.

mod keep;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::money::MicroUsd;
use super::time::Timestamp;
use crate::shape::words;
use keep::Keeper;

words! {
    /// The state of its task that an executor reports.
    ReportedState {
        Pending = "PENDING",
        InProgress = "IN_PROGRESS",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Aborted = "ABORTED",
        Skipped = "SKIPPED",
    }
}

words! {
    /// How a task ended: the last word of its executor, or of writ where the state leaves it open.
    FinalSignal {
        Success = "SUCCESS",
        PartialSuccess = "PARTIAL_SUCCESS",
        Failure = "FAILURE",
        Aborted = "ABORTED",
    }
}

words! {
    /// What became of a file.
    ArtifactStatus {
        Created = "CREATED",
        Updated = "UPDATED",
        Deleted = "DELETED",
        Unchanged = "UNCHANGED",
    }
}

words! {
    /// How a checkpoint ended. `RECOVERED` comes from older drafts of AOP.
    CheckpointStatus {
        Pending = "PENDING",
        Pass = "PASS",
        Fail = "FAIL",
        Skip = "SKIP",
        Recovered = "RECOVERED",
    }
}

/// The report of an executor, bounded and without secrets. Nothing in it is more than a claim, except what the
/// fields named `seen` and the findings say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutorReport {
    pub state: ReportedState,
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl ExecutorReport {
    /// A report of nothing but the end.
    pub fn new(state: ReportedState, agent: AgentReport) -> Self {
        Self {
            state,
            final_signal: None,
            message: None,
            agent,
            summary: None,
            actions: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            output_artifacts: Vec::new(),
            checkpoint_results: Vec::new(),
            error: None,
            timing: None,
            progress: None,
            cost: None,
            findings: Vec::new(),
            left_out: 0,
        }
    }

    /// The same within the limits of a report. `clean` removes secrets from a text.
    #[must_use]
    pub fn bounded(mut self, clean: &dyn Fn(&str) -> String) -> Self {
        let mut keep = Keeper::new(clean);
        keep.maybe(&mut self.message);
        keep.text(&mut self.agent.name);
        keep.text(&mut self.agent.model);
        keep.maybe(&mut self.summary);
        if let Some(error) = &mut self.error {
            keep.text(&mut error.error_code);
            keep.text(&mut error.message);
            keep.maybe(&mut error.stack_trace);
            keep.texts(&mut error.recovery_suggestions);
        }
        if let Some(cost) = &mut self.cost {
            keep.maybe(&mut cost.model_pricing_tier);
        }
        // The lists come last: what does not fit is left out of the longest.
        keep.list(&mut self.checkpoint_results, |keep, result| {
            keep.text(&mut result.checkpoint_id);
            keep.maybe(&mut result.validation_output);
            keep.texts(&mut result.evidence);
            keep.maybe(&mut result.notes);
        });
        keep.list(&mut self.output_artifacts, |keep, made| {
            keep.text(&mut made.kind);
            keep.text(&mut made.path);
            keep.maybe(&mut made.hash);
        });
        keep.texts(&mut self.warnings);
        keep.texts(&mut self.errors);
        keep.texts(&mut self.actions);
        self.left_out = keep.left_out;
        self
    }

    /// Notes that the executor claims success and writ saw none.
    pub fn overturn(&mut self, seen: &str) {
        let claims_success =
            matches!(self.final_signal, Some(FinalSignal::Success | FinalSignal::PartialSuccess) | None);
        if self.state == ReportedState::Completed && claims_success {
            let claimed = self.final_signal.map_or(self.state.as_str(), FinalSignal::as_str);
            self.findings.push(Difference::new("task_status", claimed, format!("FAILURE: {seen}")));
        }
    }

    /// Whether the executor itself says that only a part of the work is done.
    pub fn is_partial(&self) -> bool {
        self.final_signal == Some(FinalSignal::PartialSuccess)
    }
}

impl ErrorReport {
    pub fn new(code: &str, message: &str) -> Self {
        let (error_code, message) = (code.to_owned(), message.to_owned());
        Self { error_code, message, stack_trace: None, recovery_suggestions: Vec::new() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
