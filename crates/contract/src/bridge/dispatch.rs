//! Exit codes across the bridge, and when a dispatched phase counts as done: artifacts first, exit code second.

/// The meaning of an exit code of `ol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlExit {
    /// Go on with the next phase.
    Proceed,
    /// Log it, then retry or escalate.
    Failed,
    /// A person or a fallback is needed.
    Escalate,
    /// The whole quest is done.
    Complete,
}

impl OlExit {
    /// Codes that are not in the table, signals included, are failures.
    pub fn from_code(code: i32) -> Self {
        match code {
            0 => OlExit::Proceed,
            2 => OlExit::Escalate,
            42 => OlExit::Complete,
            _ => OlExit::Failed,
        }
    }

    pub fn code(self) -> u8 {
        match self {
            OlExit::Proceed => 0,
            OlExit::Failed => 1,
            OlExit::Escalate => 2,
            OlExit::Complete => 42,
        }
    }
}

/// What a phase must leave behind, as globs relative to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseArtifact {
    pub pattern: &'static str,
    /// An optional artifact never decides.
    pub required: bool,
}

/// The patterns the contract lists. A phase it does not list has none.
pub fn expected_artifacts(phase: &str) -> &'static [PhaseArtifact] {
    const fn required(pattern: &'static str) -> PhaseArtifact {
        PhaseArtifact { pattern, required: true }
    }
    const fn optional(pattern: &'static str) -> PhaseArtifact {
        PhaseArtifact { pattern, required: false }
    }
    match phase {
        "RESEARCH" => const { &[required(".agents/research/*")] },
        "PLAN" => const { &[required(".agents/plans/*"), optional(".beads/issues.jsonl")] },
        "RETRO" => const { &[required(".agents/retros/*")] },
        "FLYWHEEL" => const { &[optional(".agents/learnings/*")] },
        _ => &[],
    }
}

/// What was observed when a dispatched process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchEnd {
    pub exit_code: i32,
    /// Whether every required artifact exists and is newer than the phase; `None` if nothing is required.
    pub artifacts_found: Option<bool>,
    pub retries_left: u32,
    /// An error that another attempt cannot fix, such as a missing program.
    pub breaker: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchOutcome {
    Success,
    Retry,
    /// Fails closed, exit code 1.
    Fail,
    /// A person is needed, exit code 2.
    Escalate,
}

/// Decides the outcome of a dispatch. A crash after the work was done is a success; an exit code of 0 without
/// the work is not. If nothing is required, only the exit code decides.
pub fn interpret(ended: DispatchEnd) -> DispatchOutcome {
    let done = ended.artifacts_found.unwrap_or(ended.exit_code == 0);
    match (done, ended.exit_code) {
        (true, _) => DispatchOutcome::Success,
        (false, exit) if exit != 0 && ended.breaker => DispatchOutcome::Escalate,
        (false, _) if ended.retries_left > 0 => DispatchOutcome::Retry,
        (false, _) => DispatchOutcome::Fail,
    }
}

#[cfg(test)]
mod tests;
