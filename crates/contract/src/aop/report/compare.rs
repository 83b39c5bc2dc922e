//! Compares what an executor claims with what writ saw. Every difference is a finding.

use crate::aop::v1::MODEL_UNNAMED;
use crate::domain::limits;
use crate::domain::report::{
    ArtifactReport, ArtifactSeen, ArtifactStatus, CheckpointReport, CheckpointSeen, CheckpointStatus,
    Difference, ExecutorReport, TimingReport,
};

/// What writ knows about an attempt and its executor. What is `None` is not compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownOfAttempt<'k> {
    /// The model that was asked for; programs report it with a date or another suffix.
    pub model: Option<&'k str>,
    pub agent_name: Option<&'k str>,
    pub provider: Option<&'k str>,
    /// How many attempts there were before this one.
    pub retries: Option<u64>,
}

/// Replaces the report's findings by every difference between its claims and what was seen, which it contains.
pub fn compare(report: &mut ExecutorReport, known: &KnownOfAttempt<'_>, checkpoints: &[CheckpointSeen]) {
    let mut found = of_agent(report, known);
    found.extend(report.output_artifacts.iter().flat_map(of_artifact));
    found.extend(report.checkpoint_results.iter().filter_map(|claim| of_checkpoint(claim, checkpoints)));
    found.extend(report.timing.iter().flat_map(of_timing));
    let claimed = report.timing.as_ref().and_then(|timing| timing.retries_attempted);
    if let (Some(claimed), Some(seen)) = (claimed, known.retries)
        && claimed != seen
    {
        let (claimed, seen) = (claimed.to_string(), seen.to_string());
        found.push(Difference::new("timing.retries_attempted", claimed, seen));
    }
    let more = found.len().saturating_sub(limits::REPORT_FINDINGS_MAX);
    found.truncate(limits::REPORT_FINDINGS_MAX);
    if more > 0 {
        found.push(Difference::new("findings", format!("{more} more"), "not listed"));
    }
    report.findings = found;
}

/// Free text names no agent, so there is nothing to compare.
fn of_agent(report: &ExecutorReport, known: &KnownOfAttempt<'_>) -> Vec<Difference> {
    let agent = &report.agent;
    if agent.model == MODEL_UNNAMED {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(name) = known.agent_name.filter(|name| !name.eq_ignore_ascii_case(&agent.name)) {
        found.push(Difference::new("agent.name", &agent.name, name));
    }
    if let Some(provider) = known.provider.filter(|provider| *provider != agent.provider) {
        found.push(Difference::new("agent.provider", &agent.provider, provider));
    }
    if let Some(asked) = known.model.filter(|asked| !agent.model.contains(asked)) {
        found.push(Difference::new("agent.model", &agent.model, asked));
    }
    found
}

/// A checkpoint that was not run contradicts no claim but that of a failure.
fn of_checkpoint(claim: &CheckpointReport, checkpoints: &[CheckpointSeen]) -> Option<Difference> {
    let what = format!("checkpoint_results[{}]", claim.checkpoint_id);
    let own = checkpoints.iter().find(|own| own.checkpoint_id == claim.checkpoint_id);
    let Some(own) = own else {
        return Some(Difference::new(what, claim.status.as_str(), "the TASK has no such checkpoint"));
    };
    let differs = match own.status {
        CheckpointStatus::Pending => claim.status == CheckpointStatus::Fail,
        CheckpointStatus::Pass
        | CheckpointStatus::Fail
        | CheckpointStatus::Skip
        | CheckpointStatus::Recovered => own.status != final_status(claim.status),
    };
    let problem = own.problem.as_deref().map(|problem| format!(": {problem}")).unwrap_or_default();
    differs.then(|| Difference::new(what, claim.status.as_str(), format!("{}{problem}", own.status)))
}

/// A checkpoint that was recovered has passed in the end.
fn final_status(status: CheckpointStatus) -> CheckpointStatus {
    match status {
        CheckpointStatus::Recovered => CheckpointStatus::Pass,
        CheckpointStatus::Pending
        | CheckpointStatus::Pass
        | CheckpointStatus::Fail
        | CheckpointStatus::Skip => status,
    }
}

fn of_artifact(made: &ArtifactReport) -> Vec<Difference> {
    let Some(seen) = &made.seen else { return Vec::new() };
    let what = |field: &str| format!("output_artifacts[{}].{field}", made.path);
    if let Some(problem) = &seen.problem {
        return vec![Difference::new(what("path"), made.status.as_str(), problem)];
    }
    let mut found = Vec::new();
    if let Some(status) = wrong_status(made.status, seen) {
        found.push(Difference::new(what("status"), made.status.as_str(), status));
    }
    if let (Some(claimed), Some(digest)) = (&made.hash, &seen.digest)
        && !is_digest(claimed, digest)
    {
        found.push(Difference::new(what("hash"), claimed, digest));
    }
    if let (Some(claimed), Some(size)) = (made.size_bytes, seen.size_bytes)
        && claimed != size
    {
        found.push(Difference::new(what("size_bytes"), claimed.to_string(), size.to_string()));
    }
    found
}

/// What was seen instead of the claimed status. Without a look before, only whether there is a file is known.
fn wrong_status(claimed: ArtifactStatus, seen: &ArtifactSeen) -> Option<&'static str> {
    match (claimed, seen.status, seen.digest.is_some()) {
        (claimed, Some(status), _) => (claimed != status).then_some(status.as_str()),
        (ArtifactStatus::Deleted, None, true) => Some("the file exists"),
        (ArtifactStatus::Created | ArtifactStatus::Updated | ArtifactStatus::Unchanged, None, false) => {
            Some("the file does not exist")
        }
        (ArtifactStatus::Deleted, None, false)
        | (ArtifactStatus::Created | ArtifactStatus::Updated | ArtifactStatus::Unchanged, None, true) => None,
    }
}

/// Whether a claimed hash is this SHA-256, with or without its prefix.
fn is_digest(claimed: &str, digest: &str) -> bool {
    let hex = |text: &str| text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    hex(claimed.trim()) == hex(digest)
}

/// Claimed times may differ from writ's by as much as clocks do.
fn of_timing(timing: &TimingReport) -> Vec<Difference> {
    let (Some(started), Some(ended)) = (timing.seen_started_at, timing.seen_ended_at) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let (from, to) = (started.minus(limits::CLOCK_SKEW_MAX), ended.plus(limits::CLOCK_SKEW_MAX));
    if timing.started_at < from || timing.started_at > to {
        let (claimed, seen) = (timing.started_at.to_string(), started.to_string());
        found.push(Difference::new("timing.started_at", claimed, seen));
    }
    if timing.completed_at < from || timing.completed_at > to {
        let (claimed, seen) = (timing.completed_at.to_string(), ended.to_string());
        found.push(Difference::new("timing.completed_at", claimed, seen));
    }
    let took = ended.since(started).as_secs();
    // Both are rounded to seconds.
    if timing.duration_seconds > took.saturating_add(1) {
        let claimed = timing.duration_seconds.to_string();
        found.push(Difference::new("timing.duration_seconds", claimed, took.to_string()));
    }
    found
}
