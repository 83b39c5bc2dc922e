//! Turns a submitted document of any contract into a plan.

mod bounds;
mod checks;
mod from_aee;
mod from_aop;
mod map;
mod one_task;
mod prompt;
mod session;
mod target;

use std::collections::BTreeMap;

use crate::aop::Fallback;
use crate::aop::event::AuditTrail;
use crate::digest;
use crate::domain::executor::ExecutorName;
use crate::domain::failure_code::FailureCode;
use crate::domain::plan::Plan;
use crate::domain::run::{DocumentKind, Intent, RunWarning};
use crate::domain::time::Timestamp;
use crate::finding::{Finding, Findings};
use crate::plan::document::{self, PlanDocument};
use crate::plan::upgrade::Upgrades;
use crate::plan::{KnownExecutor, read};

pub use from_aee::{RUN_PLAN, RUN_TASK};
pub use from_aop::snapshots;
pub use map::PathMapping;

/// A submitted document, read and validated.
#[derive(Debug, Clone, PartialEq)]
pub struct Intake {
    pub kind: DocumentKind,
    pub objective: String,
    /// As written in the document; a plan's is relative to its file.
    pub workspace: Option<String>,
    /// Empty if the intent is answered without running anything.
    pub plan: Plan,
    pub intent: Option<Intent>,
    pub corr: Option<String>,
    pub document_digest: String,
    /// The AOP session of its TASKs.
    pub session_id: Option<String>,
    /// What its author should know although it was accepted.
    pub warnings: Vec<RunWarning>,
    /// Tasks of the plan, by their index, that are sent as AOP v1.
    pub fallbacks: Vec<(usize, Fallback)>,
}

/// What the caller can run.
#[derive(Debug, Clone, Default)]
pub struct Executors {
    /// A plan may name only these; empty accepts every name.
    pub known: Vec<KnownExecutor>,
    /// The command line of an agent, by its name or its provider, in lower case.
    pub commands: BTreeMap<String, Vec<String>>,
    /// Executors that the user configured with more than a command.
    pub named: Vec<ExecutorName>,
    pub aop: AopSettings,
    /// Models for escalated tasks.
    pub upgrades: Upgrades,
}

/// What the configuration says about AOP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AopSettings {
    /// Who gets prompts that name nobody.
    pub executor: Option<String>,
    /// Refuse a TASK that does not match its schema, instead of sending it as a v1 prompt.
    pub refuses_fallback: bool,
    pub map: Vec<PathMapping>,
    pub audit: AuditFiles,
}

/// Where the audit files of sessions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditFiles {
    /// None are written.
    Off,
    /// In this directory: absolute, or relative to the workspace of the run.
    In(String),
}

impl Default for AuditFiles {
    fn default() -> Self {
        Self::In(AuditTrail::STORAGE_PATH.to_owned())
    }
}

impl AuditFiles {
    pub fn path(&self) -> Option<&str> {
        match self {
            AuditFiles::Off => None,
            AuditFiles::In(path) => Some(path),
        }
    }

    /// The part of a workspace in which only writ writes them; `None` if they are elsewhere.
    pub fn within(&self, workspace: &str) -> Option<&str> {
        let path = self.path()?;
        let inside = match path.strip_prefix('/') {
            None => path,
            Some(_) => path.strip_prefix(workspace)?.strip_prefix('/')?,
        };
        Some(inside.trim_end_matches('/')).filter(|inside| !inside.is_empty())
    }
}

/// How a document is read, besides its bytes and the configuration.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The name of its file. It decides whether text is a prompt.
    pub name: Option<String>,
    /// The executor that gets its TASKs or its prompt, whatever they name.
    pub executor: Option<String>,
    /// Where paths of its TASKs are here; before those of the configuration.
    pub map: Vec<PathMapping>,
    pub now: Timestamp,
}

impl Default for Reading {
    fn default() -> Self {
        Self { name: None, executor: None, map: Vec::new(), now: Timestamp::from_millis(0) }
    }
}

/// Why a document was refused: every finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub kind: DocumentKind,
    pub findings: Findings,
    /// The AOP code of the refusal, where AOP has one for it.
    pub code: Option<FailureCode>,
}

impl Refused {
    fn aop(code: Option<FailureCode>, findings: Findings) -> Self {
        Self { kind: DocumentKind::AopTask, findings, code }
    }
}

/// Reads a plan, AOP TASKs, an AEE task or a prompt and detects which it is. Reports every finding.
pub fn read(bytes: &[u8], executors: &Executors) -> Result<Intake, Refused> {
    read_as(bytes, executors, &Reading::default())
}

/// The same, where more is known about the document.
pub fn read_as(bytes: &[u8], executors: &Executors, reading: &Reading) -> Result<Intake, Refused> {
    let document = document::read(bytes, reading.name.as_deref()).map_err(|unreadable| {
        let kind = unreadable.code.map_or(DocumentKind::Plan, |_| DocumentKind::AopTask);
        Refused { kind, findings: unreadable.findings, code: unreadable.code }
    })?;
    let digest = digest::of_bytes(bytes);
    let kind = document.kind();
    if kind != DocumentKind::AopTask {
        refuse_useless(reading).map_err(|findings| Refused { kind, findings, code: None })?;
    }
    understand(&document, bytes, executors, reading)
        .map(|intake| Intake { document_digest: digest, ..intake })
}

fn understand(
    document: &PlanDocument,
    bytes: &[u8],
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    let refused = |kind: DocumentKind| move |findings: Findings| Refused { kind, findings, code: None };
    match document {
        PlanDocument::Value { kind, value } if *kind != DocumentKind::Plan => {
            refuse_secrets(value).map_err(refused(*kind))?;
        }
        PlanDocument::Tasks(tasks) => tasks.iter().enumerate().try_for_each(|(index, task)| {
            let placed = |findings| placed(findings, &format!("$[{index}]"));
            refuse_secrets(task).map_err(placed).map_err(refused(DocumentKind::AopTask))
        })?,
        // A plan is searched together with its other faults, a prompt as the TASK that is made of it.
        PlanDocument::Value { .. } | PlanDocument::Prompt { .. } => {}
    }
    match document {
        // A ledger is never read from a document here; the document it was opened from was a plan.
        PlanDocument::Value { kind: kind @ (DocumentKind::Plan | DocumentKind::Ledger), value } => {
            read::from_value(value, &executors.known).map(from_plan).map_err(refused(*kind))
        }
        PlanDocument::Value { kind: DocumentKind::AopTask, value } => {
            from_aop::read(bytes, value, executors, reading)
        }
        PlanDocument::Value { kind: DocumentKind::AeeTask, .. } => from_aee::read(bytes, executors, reading),
        PlanDocument::Tasks(tasks) => from_aop::read_all(tasks, executors, reading),
        PlanDocument::Prompt { text, is_v1 } => prompt::read(text, *is_v1, executors, reading),
    }
}

/// What is said about a TASK has no effect on any other document.
fn refuse_useless(reading: &Reading) -> Result<(), Findings> {
    let mut findings = Findings::default();
    if reading.executor.is_some() {
        let message = "`executor` is for AOP TASKs and prompts; a plan names the executor of each task";
        findings.push("$", "no_effect", message);
    }
    if !reading.map.is_empty() {
        findings.push("$", "no_effect", "`map` is for the paths of AOP TASKs");
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Documents that are stored unchanged are searched before anything else.
fn refuse_secrets(value: &serde_json::Value) -> Result<(), Findings> {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        // A signature is not secret, and it is not stored.
        fields.remove("sig");
    }
    let mut findings = Findings::default();
    let advice = "leave it out and keep the value in the environment of the program";
    read::refuse_secrets(&value, &mut String::from("$"), advice, &mut findings);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// The same findings in a document that holds the one they are about.
fn placed(findings: Findings, at: &str) -> Findings {
    let moved = |finding: Finding| Finding { path: finding.path.replacen('$', at, 1), ..finding };
    findings.sorted().into_iter().map(moved).collect()
}

fn from_plan(plan: Plan) -> Intake {
    Intake {
        kind: DocumentKind::Plan,
        objective: plan.objective.clone(),
        workspace: plan.workspace.clone(),
        plan,
        intent: None,
        corr: None,
        document_digest: String::new(),
        session_id: None,
        warnings: Vec::new(),
        fallbacks: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
