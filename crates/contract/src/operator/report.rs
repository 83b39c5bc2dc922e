//! Collects the findings of a document and returns the verdict.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::codes::Code;
use super::rules::{OperatorRule, Stage};
use crate::aee::judge;
use crate::finding::{Finding, Findings};
use crate::secrets;
use crate::verdict::Verdict;

/// The findings so far. Nothing is final until [`FindingReport::verdict`].
#[derive(Debug, Default)]
pub(super) struct FindingReport {
    findings: Findings,
    /// The fault that decides so far. The list is limited, so it may not contain this fault.
    primary: Option<Finding>,
    warnings: Findings,
    more: Map<String, Value>,
}

impl FindingReport {
    pub(super) fn fault(&mut self, path: impl Into<String>, rule: OperatorRule, message: impl Into<String>) {
        let finding = Finding { path: path.into(), rule: rule.as_str(), message: message.into() };
        self.decide(&finding);
        self.findings.push(finding.path, finding.rule, finding.message);
    }

    fn decide(&mut self, finding: &Finding) {
        let order = |finding: &Finding| (stage(finding), finding.path.clone());
        if self.primary.as_ref().is_none_or(|primary| order(finding) < order(primary)) {
            self.primary = Some(finding.clone());
        }
    }

    pub(super) fn warn(&mut self, path: impl Into<String>, rule: OperatorRule, message: impl Into<String>) {
        self.warnings.push(path, rule.as_str(), message);
    }

    /// Adds a machine-readable fact to the verdict's details. The first value of a name is kept.
    pub(super) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.more.entry(name).or_insert_with(|| value.into());
    }

    /// Adds to a list in the verdict's details.
    pub(super) fn list(&mut self, name: &str, value: impl Into<Value>) {
        let list = self.more.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut().expect("BUG: a name is used for a list or for a value").push(value.into());
    }

    pub(super) fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds the findings of the part of the document at `place`.
    pub(super) fn absorb(&mut self, place: &str, part: FindingReport) {
        if let Some(primary) = part.primary {
            let path = format!("{place}{}", primary.path.trim_start_matches('$'));
            self.decide(&Finding { path, ..primary });
        }
        judge::absorb(&mut self.findings, place, part.findings);
        judge::absorb(&mut self.warnings, place, part.warnings);
        for (name, value) in part.more {
            match value {
                Value::Array(items) => items.into_iter().for_each(|item| self.list(&name, item)),
                value => self.note(&name, value),
            }
        }
    }

    /// Allows a document without faults; otherwise the fault of the earliest stage decides.
    pub(super) fn verdict(mut self, kind: &str, allowed: &str) -> Verdict {
        let missing: Vec<Value> = self
            .findings
            .iter()
            .filter(|f| f.rule == OperatorRule::Missing.as_str())
            .map(|f| leaf(&f.path).into())
            .collect();
        if !missing.is_empty() {
            self.note("missing", missing);
        }
        let mut verdict = match self.primary {
            None => Verdict::allowed(kind, allowed, self.warnings),
            Some(primary) => {
                let code = OperatorRule::parse(primary.rule).map_or(Code::SchemaInvalid, OperatorRule::code);
                Verdict::denied(kind, code.as_str(), &primary, self.findings, self.warnings)
            }
        };
        verdict.details.more = self.more;
        scrub(&mut verdict);
        verdict
    }
}

fn stage(finding: &Finding) -> Stage {
    OperatorRule::parse(finding.rule).map_or(Stage::Values, OperatorRule::stage)
}

/// The field at the end of a path: `lock_scope` for `$.task.lock_scope[3]`.
pub(super) fn leaf(path: &str) -> &str {
    let field = path.rsplit('.').next().unwrap_or(path);
    field.split('[').next().unwrap_or(field)
}

/// A verdict may quote the document, but never a secret from it.
pub(super) fn scrub(verdict: &mut Verdict) {
    scrub_text(&mut verdict.reason);
    let details = &mut verdict.details;
    details.path.iter_mut().for_each(scrub_text);
    for finding in details.findings.iter_mut().chain(&mut details.warnings) {
        scrub_text(&mut finding.path);
        scrub_text(&mut finding.message);
    }
    details.more.values_mut().for_each(|value| *value = secrets::scrub_value(value.take()));
}

fn scrub_text(text: &mut String) {
    if let Cow::Owned(clean) = secrets::scrub(text) {
        *text = clean;
    }
}
