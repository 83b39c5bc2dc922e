//! The fields of a TASK that writ accepts and that change nothing it does. They are named, never dropped in silence.

use super::header::SCHEMA_VERSION;
use super::task::{Task, Validation};
use crate::domain::plan::policy::OnFailure;

const PASSED_ON: &str = "it is passed on to the executor";

/// A field without effect, as `path: why`.
pub fn of(task: &Task) -> Vec<String> {
    let mut found = vec![
        told("$.target.role", PASSED_ON),
        told("$.task.category", PASSED_ON),
        told("$.task.complexity", PASSED_ON),
    ];
    if task.schema_version != SCHEMA_VERSION {
        found.push(told("$.schema_version", &format!("it is read as {SCHEMA_VERSION}")));
    }
    if task.orchestration_metadata.is_some() {
        found
            .push(told("$.orchestration_metadata", "it is passed on to the executor and kept with the TASK"));
    }
    for (index, input) in task.task.inputs.iter().enumerate() {
        let at = format!("$.task.inputs[{index}]");
        if input.kind.eq_ignore_ascii_case("FILE") && input.path.is_none() {
            found.push(told(&at, "a FILE without a path names no file"));
        } else if input.kind.eq_ignore_ascii_case("TEXT") && input.content.is_none() {
            found.push(told(&at, "a TEXT without content says nothing"));
        } else if input.path.is_some() && !input.kind.eq_ignore_ascii_case("FILE") {
            found.push(told(&format!("{at}.path"), "only inputs of the type FILE are looked at"));
        }
    }
    for (index, output) in task.task.expected_outputs.iter().enumerate() {
        let at = format!("$.task.expected_outputs[{index}]");
        found.extend(unchecked(&at, &output.kind, output.path.as_deref(), output.validation.as_ref()));
    }
    found.extend(of_policy(task));
    found.extend(of_snapshots(task));
    if task.task.environment.shell.is_some() && !has_validation(task) {
        found.push(told("$.task.environment.shell", "only validations are run by it, and there are none"));
    }
    found.extend(of_phases(task));
    found.extend(words_for_the_executor(task));
    found
}

/// Fields about retries and heartbeats that there are not.
fn of_policy(task: &Task) -> Vec<String> {
    let Some(policy) = &task.execution_policy else { return Vec::new() };
    let mut found = Vec::new();
    if policy.max_retries.unwrap_or(0) == 0 {
        let why = "max_retries is 0";
        if policy.on_failure == Some(OnFailure::Retry) {
            found.push(told("$.execution_policy.on_failure", &format!("RETRY does nothing, because {why}")));
        }
        if policy.retry_backoff_seconds.is_some() {
            found.push(told("$.execution_policy.retry_backoff_seconds", why));
        }
    }
    let heartbeat = policy.heartbeat.as_ref().filter(|heartbeat| heartbeat.enabled != Some(true));
    let fields = heartbeat.map(|heartbeat| {
        [
            ("interval_seconds", heartbeat.interval_seconds.is_some()),
            ("max_missed_beats", heartbeat.max_missed_beats.is_some()),
            ("on_heartbeat_failure", heartbeat.on_heartbeat_failure.is_some()),
        ]
    });
    for (field, _) in fields.into_iter().flatten().filter(|(_, is_given)| *is_given) {
        found.push(told(&format!("$.execution_policy.heartbeat.{field}"), "the heartbeat is not enabled"));
    }
    found
}

/// Fields of snapshots that nobody asks for.
fn of_snapshots(task: &Task) -> Vec<String> {
    let outputs = task.task.expected_outputs.iter().enumerate();
    let outputs = outputs
        .map(|(o, output)| (format!("$.task.expected_outputs[{o}]"), output.rollback_snapshot.as_ref()));
    let phases = task.phases.iter().enumerate();
    let points = phases
        .flat_map(|(p, phase)| phase.checkpoints.iter().enumerate().map(move |(c, point)| (p, c, point)));
    let artifacts = points.flat_map(|(p, c, point)| {
        point.expected_artifacts.iter().enumerate().map(move |(a, made)| {
            let at = format!("$.phases[{p}].checkpoints[{c}].expected_artifacts[{a}]");
            (at, made.rollback_snapshot.as_ref())
        })
    });
    let mut found = Vec::new();
    for (at, snapshot) in outputs.chain(artifacts) {
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.enabled != Some(true)) else { continue };
        let fields = [
            ("snapshot_path", snapshot.snapshot_path.is_some()),
            ("snapshot_strategy", snapshot.snapshot_strategy.is_some()),
        ];
        let given = fields.into_iter().filter(|(_, is_given)| *is_given);
        found.extend(given.map(|(field, _)| {
            told(&format!("{at}.rollback_snapshot.{field}"), "the snapshot is not enabled")
        }));
    }
    found
}

fn has_validation(task: &Task) -> bool {
    let points = || task.phases.iter().flat_map(|phase| &phase.checkpoints);
    task.task.expected_outputs.iter().any(|output| output.validation.is_some())
        || points().any(|point| point.validation.is_some())
        || points().flat_map(|point| &point.expected_artifacts).any(|made| made.validation.is_some())
}

/// Texts that only an executor reads, each named once for all of its kind.
fn words_for_the_executor(task: &Task) -> impl Iterator<Item = String> {
    let points = || task.phases.iter().flat_map(|phase| &phase.checkpoints);
    let mut artifacts = points().flat_map(|point| &point.expected_artifacts);
    let given = [
        ("$.task.expected_outputs[].description", !task.task.expected_outputs.is_empty()),
        ("$.phases[].label", !task.phases.is_empty()),
        ("$.phases[].objective", !task.phases.is_empty()),
        ("$.phases[].checkpoints[].description", points().next().is_some()),
        (
            "$.phases[].checkpoints[].expected_artifacts[].description",
            artifacts.any(|made| made.description.is_some()),
        ),
    ];
    given.into_iter().filter(|(_, is_given)| *is_given).map(|(path, _)| told(path, PASSED_ON))
}

fn of_phases(task: &Task) -> Vec<String> {
    let mut found = Vec::new();
    for (p, phase) in task.phases.iter().enumerate() {
        let same = task.phases[..p].iter().any(|earlier| earlier.phase_order == phase.phase_order);
        if same {
            let at = format!("$.phases[{p}].phase_order");
            found.push(told(&at, "another phase has the same; they run as they are written"));
        }
        for (c, point) in phase.checkpoints.iter().enumerate() {
            let at = format!("$.phases[{p}].checkpoints[{c}]");
            let is_file =
                |kind: &str, path: &Option<String>| kind.eq_ignore_ascii_case("FILE") && path.is_some();
            let has_artifact = point.expected_artifacts.iter().any(|made| is_file(&made.kind, &made.path));
            if point.validation.is_none() && !has_artifact {
                found.push(told(
                    &at,
                    "it has neither a validation nor a FILE that must exist, so it stays PENDING",
                ));
            }
            for (a, made) in point.expected_artifacts.iter().enumerate() {
                let at = format!("{at}.expected_artifacts[{a}]");
                found.extend(unchecked(&at, &made.kind, made.path.as_deref(), made.validation.as_ref()));
            }
        }
    }
    found
}

fn unchecked(at: &str, kind: &str, path: Option<&str>, validation: Option<&Validation>) -> Option<String> {
    let is_file = kind.eq_ignore_ascii_case("FILE") && path.is_some();
    let is_unchecked = !is_file && validation.is_none();
    is_unchecked.then(|| told(at, "only a FILE with a path, or a validation, can be checked"))
}

fn told(path: &str, why: &str) -> String {
    format!("{path}: {why}")
}

#[cfg(test)]
mod tests;
