//! An AEE task: a reserved intent, or one that carries a plan or an AOP TASK.

use serde_json::Value;

use super::{Executors, Intake, from_aop};
use crate::aee::{self, Type};
use crate::domain::priority::Priority;
use crate::domain::run::{DocumentKind, Intent};
use crate::finding::{Finding, Findings};
use crate::plan::{Plan, read};

/// Our own intents that request work.
pub const RUN_PLAN: &str = "writ.run.plan";
pub const RUN_TASK: &str = "writ.run.task";

pub(super) fn read(bytes: &[u8], executors: &Executors) -> Result<Intake, Findings> {
    let envelope =
        aee::parse(bytes).map_err(|verdict| verdict.details.findings.into_iter().collect::<Findings>())?;
    if envelope.kind != Type::Task {
        let mut findings = Findings::default();
        let message =
            format!("only an envelope of type task can be run; this one is `{}`", envelope.kind.as_str());
        findings.push("$.type", "enum", message);
        return Err(findings);
    }
    let mut plan = carried(&envelope.intent, &Value::Object(envelope.payload.clone()), executors)?;
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
        document_digest: String::new(),
    })
}

/// The plan in the payload; `None` for intents that are answered without one.
fn carried(intent: &str, payload: &Value, executors: &Executors) -> Result<Plan, Findings> {
    let inside = |findings: Findings, at: &str| -> Findings {
        let moved = |finding: Finding| Finding { path: finding.path.replacen('$', at, 1), ..finding };
        findings.sorted().into_iter().map(moved).collect()
    };
    let field = |name: &str| {
        payload.get(name).ok_or_else(|| {
            let mut findings = Findings::default();
            findings.push(
                format!("$.payload.{name}"),
                "missing",
                format!("`{name}` is required for {intent}"),
            );
            findings
        })
    };
    match intent {
        RUN_PLAN => read::from_value(field("plan")?, &executors.known)
            .map_err(|findings| inside(findings, "$.payload.plan")),
        RUN_TASK => {
            let bytes = field("task")?.to_string();
            from_aop::read(bytes.as_bytes(), executors)
                .map(|intake| intake.plan)
                .map_err(|findings| inside(findings, "$.payload.task"))
        }
        _ => Ok(Plan::default()),
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
