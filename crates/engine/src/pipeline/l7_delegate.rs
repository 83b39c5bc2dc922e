//! L7: records what came back from the executor, and what it claims.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aocl::Layer;
use contract::domain::attempt::Silences;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits::FINDINGS_TRACED_MAX;
use contract::domain::network::{HostRule, Verdict, Visit};
use contract::domain::reason::{Reason, WarningCode};
use contract::domain::time::human_duration;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, Stage};
use crate::executor::{ChildEnd, Claims};
use crate::supervisor::{InForce, NamespaceInForce, SandboxPart};

/// The executor's account of its own work. Only a claim: L8 decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExecutorClaim {
    Success,
    Failure { code: FailureCode, message: String },
}

/// Hosts of an allow-list that are named in one line.
const RULES_NAMED_MAX: usize = 20;
/// Destinations with a line each. All are in the outcome of the attempt.
const VISITS_TRACED_MAX: usize = 20;

/// What the runner fetched about an attempt after its executor ended.
pub(crate) struct DelegateFacts<'d> {
    pub(crate) number: i64,
    pub(crate) ended: &'d ChildEnd,
    pub(crate) claim: &'d ExecutorClaim,
    pub(crate) claims: &'d Claims,
    pub(crate) took: Duration,
    /// What its plan asks for and did not get.
    pub(crate) overruled: &'d BTreeMap<String, String>,
    /// Silences that were too long and allowed all the same.
    pub(crate) silences: Option<Silences>,
    /// How long after its timeout it ended.
    pub(crate) late_ms: Option<u64>,
}

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Delegate, Stage::End, run).required();

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = &input.end().returned;
    let key = |field: &str| format!("C2.Task.t{}.{field}", facts.number);
    let (outcome, claim) = match facts.claim {
        ExecutorClaim::Success => {
            let reason = format!("claims success after {}", human_duration(facts.took));
            (Outcome::decided("RETURNED", reason), "success")
        }
        ExecutorClaim::Failure { code, message } => {
            (Outcome::decided("EXECUTOR_FAILED", Reason::coded(*code, message).to_string()), "failure")
        }
    };
    let outcome = reported(outcome, facts.claims);
    let outcome = match facts.ended.leftovers_killed {
        0 => outcome,
        n => outcome.and("LEFTOVERS_ENDED", format!("{n} processes outlived the executor and were ended")),
    };
    let outcome = match &facts.ended.in_force {
        Some(in_force) => proxied(sandboxed(confined(outcome, in_force), in_force), in_force)
            .set(key("namespace"), in_force.namespace.to_string())
            .set(key("sandbox"), sandbox_words(in_force)),
        None => outcome,
    };
    let outcome = facts.overruled.iter().fold(outcome, |outcome, (what, said)| match said.as_str() {
        "off" => outcome.and("SANDBOX_OFF", "the plan or the configuration turns it off"),
        said => outcome.and("SANDBOX_OVERRULED", format!("{what} {said}")),
    });
    let outcome = visits(outcome, &facts.ended.network);
    let outcome = tardy(outcome, facts);
    let outcome = match &facts.ended.denied {
        Some(denied) => outcome.and("PERMISSION_DENIED", denied.clone()),
        None => outcome,
    };
    // The layer itself is quick; its record has the time of the work.
    outcome.set(key("exit_code"), facts.ended.exit_code).set(key("claim"), claim).taking(facts.took)
}

/// The parts of a RESPONSE beside success or failure.
fn reported(outcome: Outcome, claims: &Claims) -> Outcome {
    let warned = claims.warnings.iter().take(FINDINGS_TRACED_MAX).fold(outcome, |outcome, warning| {
        outcome.and(warning.code.map_or("WARNING", WarningCode::as_str), &warning.text)
    });
    let Some(report) = &claims.report else { return warned };
    let partial = report.is_partial().then(|| "a part of the work".to_owned());
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts = [
        partial,
        count(report.output_artifacts.len(), "artifacts"),
        count(report.checkpoint_results.len(), "checkpoint results"),
        count(report.warnings.len(), "warnings"),
        count(report.errors.len(), "errors"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { warned } else { warned.and("REPORTED", parts.join(", ")) }
}

/// Silences and lateness that did not end it.
fn tardy(outcome: Outcome, facts: &DelegateFacts<'_>) -> Outcome {
    let shown = |ms: u64| human_duration(Duration::from_millis(ms));
    let outcome = match facts.silences {
        Some(Silences { windows, longest_ms }) => {
            let times = if windows == 1 { "once".to_owned() } else { format!("{windows} times") };
            let reason = format!("missed its heartbeats {times}, silent for up to {}", shown(longest_ms));
            outcome.and("HEARTBEATS_MISSED", reason)
        }
        None => outcome,
    };
    match facts.late_ms {
        Some(late_ms) => outcome.and("LATE", format!("ended {} after its timeout", shown(late_ms))),
        None => outcome,
    }
}

/// What was not in force, and why.
fn confined(outcome: Outcome, in_force: &InForce) -> Outcome {
    match &in_force.namespace {
        NamespaceInForce::On => outcome,
        NamespaceInForce::Off => outcome.and("NAMESPACE_OFF", "the plan turns the pid namespace off"),
        NamespaceInForce::Refused(reason) => {
            let instead = "its processes were supervised by the shim and their marks";
            outcome.and("NAMESPACE_REFUSED", format!("the system refuses {reason}; {instead}"))
        }
    }
}

/// What of a sandbox that was asked for was not in force, and why.
fn sandboxed(outcome: Outcome, in_force: &InForce) -> Outcome {
    let parts = in_force.sandbox.iter().flat_map(|sandbox| sandbox.parts());
    parts.fold(outcome, |outcome, (name, part)| match part {
        SandboxPart::Refused(reason) => outcome.and("SANDBOX_REFUSED", format!("{name}: {reason}")),
        SandboxPart::Off(reason) if name == "files" => outcome.and("SANDBOX_FILES_OFF", reason.clone()),
        SandboxPart::On | SandboxPart::Off(_) => outcome,
    })
}

/// What could be reached through the proxy, and why.
fn proxied(outcome: Outcome, in_force: &InForce) -> Outcome {
    let Some(reachable) = in_force.sandbox.as_ref().and_then(|sandbox| sandbox.reachable.as_ref()) else {
        return outcome;
    };
    let list = |rules: &[HostRule]| {
        let named = rules.iter().take(RULES_NAMED_MAX).map(ToString::to_string);
        let more = rules.len().saturating_sub(RULES_NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more"));
        Some(named.chain(more).collect::<Vec<_>>().join(", ")).filter(|list| !list.is_empty())
    };
    let allow = list(&reachable.allow).unwrap_or_else(|| "no host".to_owned());
    let outcome = outcome.and("NETWORK_RESTRICTED", format!("the plan allows {allow}"));
    match list(&reachable.endpoints) {
        Some(endpoints) => {
            let reason = format!("endpoints of the executor, reachable all the same: {endpoints}");
            outcome.and("NETWORK_ENDPOINTS", reason)
        }
        None => outcome,
    }
}

/// What was reached through the proxy, and what was not.
fn visits(outcome: Outcome, visits: &[Visit]) -> Outcome {
    let outcome = visits.iter().take(VISITS_TRACED_MAX).fold(outcome, |outcome, visit| {
        let code = match visit.verdict {
            Verdict::Allowed => "NETWORK_ALLOWED",
            Verdict::Denied => "NETWORK_DENIED",
            Verdict::Failed => "NETWORK_FAILED",
        };
        outcome.and(code, visit.to_string())
    });
    match visits.len().saturating_sub(VISITS_TRACED_MAX) {
        0 => outcome,
        more => outcome.and("NETWORK_MORE", format!("{more} more destinations are in the attempt's outcome")),
    }
}

/// The parts in force, or `off`.
fn sandbox_words(in_force: &InForce) -> String {
    let Some(sandbox) = &in_force.sandbox else { return "off".to_owned() };
    let parts = sandbox.parts().into_iter().filter(|(_, part)| **part == SandboxPart::On);
    parts.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
