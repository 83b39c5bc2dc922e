//! One AOP TASK as it was submitted: mapped to this machine, and lifted from a v1 prompt where it is no valid v2.

use serde_json::Value;

use super::{Executors, PathMapping, Reading, Refused, bounds, map};
use crate::aop::kept::{self, TaskDefaults};
use crate::aop::task::{Capabilities, Task};
use crate::aop::{self, Fallback, header};
use crate::digest;
use crate::domain::failure_code::FailureCode;
use crate::domain::run::RunWarning;
use crate::finding::{Finding, Findings};
use crate::verdict::Verdict;

/// A TASK to work on.
pub(super) struct Submitted {
    pub(super) task: Task,
    /// What it is called.
    pub(super) objective: String,
    pub(super) warnings: Vec<RunWarning>,
    /// Why and how it is sent as v1.
    pub(super) fallback: Option<Fallback>,
    /// Which mappings of the caller changed a path.
    pub(super) used: Vec<bool>,
}

pub(super) fn read(
    bytes: &[u8],
    value: &Value,
    executors: &Executors,
    reading: &Reading,
) -> Result<Submitted, Refused> {
    let mappings: Vec<PathMapping> = reading.map.iter().chain(&executors.aop.map).cloned().collect();
    let mut value = value.clone();
    let mut used = map::apply(&mut value, &mappings);
    used.truncate(reading.map.len());
    // The size that counts is the one that came.
    let mapped = value.to_string();
    let has_changed = bytes.len() <= aop::limits::TASK_BYTES_MAX && !mappings.is_empty();
    let parsed = aop::parse_task(if has_changed { mapped.as_bytes() } else { bytes });
    let submitted = match parsed {
        Ok((task, findings)) => {
            let fallback = Fallback::for_target(&task);
            let mut warnings: Vec<RunWarning> = findings.into_iter().map(warning).collect();
            warnings.extend(bounds::warnings(&task));
            warnings.extend(fallback.as_ref().map(announced));
            Submitted { objective: task.task.objective.clone(), task, warnings, fallback, used }
        }
        Err(verdict) => fall_back(bytes, &value, &verdict, executors, reading)
            .map(|fallen| Submitted { used, ..fallen })?,
    };
    refuse_foreign(&value)?;
    Ok(submitted)
}

/// A TASK of a newer or broken schema, as a v1 prompt that keeps its limits.
fn fall_back(
    bytes: &[u8],
    value: &Value,
    verdict: &Verdict,
    executors: &Executors,
    reading: &Reading,
) -> Result<Submitted, Refused> {
    let code = FailureCode::read(&verdict.code);
    let findings = &verdict.details.findings;
    let refuse = |findings: Findings| Refused::aop(Some(code), findings);
    let is_v2 = value["aop_version"].as_str().is_some_and(header::is_v2);
    let can_fall = code == FailureCode::SchemaValidation && is_v2 && !executors.aop.refuses_fallback;
    let fallback = Fallback::from_refusal(bytes, value, verdict);
    let Some(prompt) = fallback.prompt.clone().filter(|_| can_fall) else {
        return Err(refuse(findings.iter().cloned().collect()));
    };
    let (session_id, task_id) = ids(bytes);
    let defaults = TaskDefaults { session_id, task_id, agent_name: "unknown".to_owned(), now: reading.now };
    let mut task = kept::kept(value, findings, &defaults).map_err(refuse)?;
    let objective = std::mem::replace(&mut task.task.objective, prompt);
    let bounded = bounds::warnings(&task);
    let capabilities = task.target.capabilities.get_or_insert_with(Capabilities::unlimited);
    capabilities.aop_versions_supported = Some(vec!["1.x".to_owned()]);
    let broken = |finding: &Finding| RunWarning {
        code: code.as_str().to_owned(),
        path: finding.path.clone(),
        message: finding.message.clone(),
    };
    let soft = verdict.details.warnings.iter().cloned().map(warning);
    let warnings = [announced(&fallback)].into_iter().chain(findings.iter().map(broken)).chain(soft);
    let warnings = warnings.chain(bounded).collect();
    Ok(Submitted { task, objective, warnings, fallback: Some(fallback), used: Vec::new() })
}

/// The ids of a session and a task that have none, from what they are about.
pub(super) fn ids(bytes: &[u8]) -> (String, String) {
    let digest = digest::of_bytes(bytes);
    let hex: String = digest.trim_start_matches("sha256:").chars().take(12).collect();
    (format!("AOP-SESSION-{hex}"), format!("TASK-V1-{hex}"))
}

fn announced(fallback: &Fallback) -> RunWarning {
    let version = fallback.from_version.as_deref().unwrap_or("unknown");
    let why = match fallback.reason {
        aop::fallback::FallbackReason::SchemaFailed => "does not match the schema",
        aop::fallback::FallbackReason::TargetV1Only => "is for a target that reads no v2",
    };
    RunWarning {
        code: "VERSION_FALLBACK".to_owned(),
        path: "$".to_owned(),
        message: format!(
            "the TASK of version {version} {why} and is sent as a v1 prompt ({})",
            fallback.reason
        ),
    }
}

fn warning(finding: Finding) -> RunWarning {
    RunWarning { code: finding.rule.to_owned(), path: finding.path, message: finding.message }
}

fn refuse_foreign(value: &Value) -> Result<(), Refused> {
    let mut findings = Findings::default();
    for (place, path) in map::foreign(value) {
        let message = format!(
            "`{path}` is a Windows path; say where it is here with `writ run --map {path}=DIR`, or under \
             [aop.map] in the user's configuration"
        );
        findings.push(place, "foreign_path", message);
    }
    if findings.is_empty() { Ok(()) } else { Err(Refused::aop(Some(FailureCode::FileNotFound), findings)) }
}
