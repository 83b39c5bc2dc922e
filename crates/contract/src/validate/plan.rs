//! Validates a plan file and returns the verdict that all validators share.

use crate::aee::judge;
use crate::domain::run::DocumentKind;
use crate::finding::Findings;
use crate::plan::document::{self, PlanDocument};
use crate::plan::{KnownExecutor, read, scopes};
use crate::verdict::Verdict;

const KIND: &str = "plan";

pub(super) fn validate(bytes: &[u8], known: &[KnownExecutor]) -> Verdict {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return *judge::refuse_whole(KIND, "empty_input", "the document is empty");
    }
    // Text that is neither TOML nor JSON is a plan with a fault here, never a prompt.
    let value = match document::read(bytes, Some("plan.toml")) {
        Ok(PlanDocument::Value { kind: DocumentKind::Plan, value }) => value,
        Ok(other) => {
            let message = format!("this is an {}, not a plan", other.kind().as_str());
            return *judge::refuse_whole(KIND, "other_kind", message);
        }
        Err(unreadable) => return denied(unreadable.findings),
    };
    match read::from_value(&value, known) {
        Ok(mut plan) => {
            // Without a workspace of its own, it depends on where the plan's file is.
            let own = plan.workspace.clone().filter(|workspace| workspace.starts_with('/'));
            let outside = own.map(|workspace| scopes::settle(&mut plan, "$", &workspace)).unwrap_or_default();
            if !outside.is_empty() {
                return denied(outside);
            }
            let mut verdict = Verdict::allowed(KIND, "plan valid", Findings::default());
            verdict.details.more.insert("tasks".to_owned(), plan.tasks.len().into());
            verdict
        }
        Err(findings) => denied(findings),
    }
}

fn denied(findings: Findings) -> Verdict {
    judge::rule(KIND, "", findings, Findings::default())
}
