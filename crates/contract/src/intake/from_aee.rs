//! An AEE task: a reserved intent, or one that carries a plan or an AOP TASK.

use serde_json::Value;

use super::{Executors, Intake, Reading, Refused, from_aop, placed};
use crate::aee::{self, Type};
use crate::domain::plan::Plan;
use crate::domain::priority::Priority;
use crate::domain::run::{DocumentKind, Intent};
use crate::finding::Findings;
use crate::plan::read;

/// Our own intents that request work.
pub const RUN_PLAN: &str = "writ.run.plan";
pub const RUN_TASK: &str = "writ.run.task";

pub(super) fn read(bytes: &[u8], executors: &Executors, reading: &Reading) -> Result<Intake, Refused> {
    let refused = |findings: Findings| Refused { kind: DocumentKind::AeeTask, findings, code: None };
    let envelope =
        aee::parse(bytes).map_err(|verdict| refused(verdict.details.findings.into_iter().collect()))?;
    if envelope.kind != Type::Task {
        let mut findings = Findings::default();
        let message =
            format!("only an envelope of type task can be run; this one is `{}`", envelope.kind.as_str());
        findings.push("$.type", "enum", message);
        return Err(refused(findings));
    }
    let payload = Value::Object(envelope.payload.clone());
    let mut carried = carried(&envelope.intent, &payload, executors, reading)?;
    let mut plan = std::mem::take(&mut carried.plan);
    let requires = envelope.requires.clone().map_or(Value::Null, Value::Object);
    tighten(&mut plan, envelope.priority, &requires);
    Ok(Intake {
        kind: DocumentKind::AeeTask,
        objective: if plan.objective.is_empty() { envelope.intent.clone() } else { plan.objective.clone() },
        workspace: plan.workspace.clone(),
        plan,
        intent: Some(Intent {
            name: envelope.intent,
            from: envelope.from,
            payload: Value::Object(envelope.payload),
            requires,
        }),
        corr: Some(envelope.corr),
        ..carried
    })
}

/// The plan in the payload; an empty one for intents that are answered without it.
fn carried(
    intent: &str,
    payload: &Value,
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    let refused = |findings: Findings| Refused { kind: DocumentKind::AeeTask, findings, code: None };
    let field = |name: &str| {
        payload.get(name).ok_or_else(|| {
            let mut findings = Findings::default();
            findings.push(
                format!("$.payload.{name}"),
                "missing",
                format!("`{name}` is required for {intent}"),
            );
            refused(findings)
        })
    };
    match intent {
        RUN_PLAN => read::from_value(field("plan")?, &executors.known)
            .map(super::from_plan)
            .map_err(|findings| refused(placed(findings, "$.payload.plan"))),
        RUN_TASK => {
            let task = field("task")?;
            let at = "$.payload.task";
            let mut intake = from_aop::read(task.to_string().as_bytes(), task, executors, reading)
                .map_err(|not| Refused { code: not.code, ..refused(placed(not.findings, at)) })?;
            intake.warnings.iter_mut().for_each(|warning| warning.path = warning.path.replacen('$', at, 1));
            Ok(intake)
        }
        _ => Ok(super::from_plan(Plan::default())),
    }
}

/// The envelope can raise the priority and shorten the timeout of its tasks, never the reverse.
fn tighten(plan: &mut Plan, priority: Priority, requires: &Value) {
    let timeout_ms = requires.get("timeout_ms").and_then(Value::as_f64).map(whole_millis);
    for task in &mut plan.tasks {
        task.priority = task.priority.max(priority);
        task.timeout_ms = task.timeout_ms.min(timeout_ms.unwrap_or(u64::MAX));
    }
}

/// The contract says a number, so it may have a fraction; rounding may shorten the time, but never to zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shape refuses negative numbers, and a cast from a float stops at the largest integer"
)]
fn whole_millis(millis: f64) -> u64 {
    (millis as u64).max(1)
}
