//! Refusals of the operator contract as errors.

use contract::domain::code::ErrorCode;
use contract::domain::crew::lock::LockRefusal;
use contract::finding::{Finding, Findings};
use contract::operator::Code;
use contract::verdict::Verdict;
use serde_json::json;

use crate::error::Error;

/// A verdict that denies, as an error with its code. The details hold the whole verdict.
pub(crate) fn denied(verdict: &Verdict) -> Error {
    let code = ErrorCode::parse(&verdict.code).unwrap_or(ErrorCode::MissingValidator);
    let error = Error::new(code, verdict.reason.clone()).details(json!(verdict));
    match hint(code) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// A refusal by the store itself.
pub(crate) fn deny(code: Code, rule: &'static str, message: impl Into<String>) -> Error {
    denied(&verdict(code, rule, message))
}

pub(crate) fn verdict(code: Code, rule: &'static str, message: impl Into<String>) -> Verdict {
    let message = contract::secrets::scrub(&message.into()).into_owned();
    let finding = Finding { path: "$".to_owned(), rule, message };
    let mut findings = Findings::default();
    findings.push(finding.path.clone(), finding.rule, finding.message.clone());
    let mut verdict = Verdict::denied("crew", code.as_str(), &finding, findings, Findings::default());
    // There is no document, so the reason has no path.
    verdict.reason = finding.message;
    verdict
}

pub(crate) fn refused(refused: LockRefusal) -> Error {
    deny(refused.into(), refused.rule(), refused.to_string())
}

fn hint(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::LockConflict => {
            Some("wait until the other task releases it; `writ lock list` shows the holders")
        }
        ErrorCode::TaskTimeout => Some("`writ watchdog sweep` releases the locks of tasks that timed out"),
        ErrorCode::LedgerInconsistent => Some(
            "`writ ledger reconcile RUN` lists every inconsistency, and `writ ledger repair RUN` resolves them",
        ),
        ErrorCode::ConcurrencyConflict => {
            Some("read the ledger again with `writ ledger show`, then decide again")
        }
        _ => None,
    }
}
