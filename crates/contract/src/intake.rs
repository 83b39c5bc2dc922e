//! Turns a submitted document of any contract into a plan.

mod checks;
mod from_aee;
mod from_aop;
mod target;

use std::collections::BTreeMap;

use crate::digest;
use crate::domain::run::{DocumentKind, Intent};
use crate::finding::Findings;
use crate::plan::document::{self, Document};
use crate::plan::{ExecutorName, KnownExecutor, Plan, read};

pub use from_aee::{RUN_PLAN, RUN_TASK};
pub use from_aop::snapshots;

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
}

/// Reads a plan, an AOP TASK or an AEE task and detects which it is. Reports every finding.
pub fn read(bytes: &[u8], executors: &Executors) -> Result<Intake, (DocumentKind, Findings)> {
    let document = document::read(bytes).map_err(|findings| (DocumentKind::Plan, findings))?;
    let digest = digest::of_bytes(bytes);
    let kind = document.kind;
    understand(&document, bytes, executors)
        .map(|intake| Intake { document_digest: digest, ..intake })
        .map_err(|findings| (kind, findings))
}

fn understand(document: &Document, bytes: &[u8], executors: &Executors) -> Result<Intake, Findings> {
    if document.kind != DocumentKind::Plan {
        refuse_secrets(document)?;
    }
    match document.kind {
        // A ledger is never read from a document here; the document it was opened from was a plan.
        DocumentKind::Plan | DocumentKind::Ledger => {
            read::from_value(&document.value, &executors.known).map(from_plan)
        }
        DocumentKind::AopTask => from_aop::read(bytes, executors),
        DocumentKind::AeeTask => from_aee::read(bytes, executors),
    }
}

/// A plan is searched together with its other faults; the other documents are stored unchanged, so they are
/// searched first.
fn refuse_secrets(document: &Document) -> Result<(), Findings> {
    let mut value = document.value.clone();
    if let Some(fields) = value.as_object_mut() {
        // A signature is not secret, and it is not stored.
        fields.remove("sig");
    }
    let mut findings = Findings::default();
    let advice = "leave it out and keep the value in the environment of the program";
    read::refuse_secrets(&value, &mut String::from("$"), advice, &mut findings);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
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
    }
}

#[cfg(test)]
mod tests;
