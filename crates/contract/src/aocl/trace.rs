//! Checks a whole trace: the envelopes of one work item, in the order in which they were written.

mod links;
mod replay;

pub use links::Strategy;
pub use replay::replay;

use std::collections::{BTreeMap, BTreeSet};

use crate::aee::{self, Envelope, judge};
use crate::aocl::{Bypass, Digests, RunSummary, check_payload, intents};
use crate::finding::Findings;
use crate::json::Value;
use crate::verdict::Verdict;

const KIND: &str = "aocl_trace";

/// What was found in a trace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TraceReport {
    pub findings: Findings,
    pub warnings: Findings,
    /// How its events are linked; `None` if there are too few to tell.
    pub strategy: Option<Strategy>,
}

/// Validates a trace in NDJSON: one envelope per line, blank lines ignored.
pub fn validate(bytes: &[u8]) -> Verdict {
    let mut findings = Findings::default();
    let mut envelopes = Vec::new();
    for (index, line) in
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).enumerate()
    {
        match aee::parse(line) {
            Ok(envelope) => envelopes.push(envelope),
            Err(refused) => absorb_refusal(&mut findings, index, &refused),
        }
    }
    if envelopes.is_empty() && findings.is_empty() {
        return *judge::refuse_whole(KIND, "empty_input", "the trace is empty");
    }
    // If envelopes are unreadable, the links and digests would only report the same fault again.
    if !findings.is_empty() {
        return judge::rule(KIND, "", findings, Findings::default());
    }
    let report = check(&envelopes);
    let mut verdict = judge::rule(KIND, "trace valid", report.findings, report.warnings);
    if let Some(strategy) = report.strategy {
        verdict.details.more.insert("strategy".to_owned(), Value::from(strategy.as_str()));
    }
    verdict.details.more.insert("envelopes".to_owned(), Value::from(envelopes.len()));
    verdict
}

/// Checks envelopes that are already parsed. The first is the request of the trace.
pub fn check(envelopes: &[Envelope]) -> TraceReport {
    let mut report = TraceReport::default();
    let Some(root) = envelopes.first() else {
        report.findings.push("$", "empty_input", "the trace is empty");
        return report;
    };
    let mut ids = BTreeSet::new();
    for (index, envelope) in envelopes.iter().enumerate() {
        if envelope.corr != root.corr {
            let message = format!("must be `{}`, as on the request", root.corr);
            report.findings.push(format!("$[{index}].corr"), "corr", message);
        }
        if !ids.insert(envelope.id.as_str()) {
            let message = format!("`{}` is in the trace already", envelope.id);
            report.findings.push(format!("$[{index}].id"), "duplicate_id", message);
        }
        let payload = Value::Object(envelope.payload.clone());
        let place = format!("$[{index}].payload");
        judge::absorb(&mut report.findings, &place, check_payload(&envelope.intent, &payload));
    }
    check_digests(envelopes, &mut report);
    check_silence(envelopes, &mut report.findings);
    report.strategy = links::check(envelopes, &mut report.findings);
    report
}

fn absorb_refusal(findings: &mut Findings, index: usize, refused: &Verdict) {
    for finding in &refused.details.findings {
        let rest = finding.path.strip_prefix('$').unwrap_or_default();
        findings.push(format!("$[{index}]{rest}"), finding.rule, finding.message.as_str());
    }
}

/// One layer's `context_out` must be the next one's `context_in`. Each run under one `corr` has its own chain.
fn check_digests(envelopes: &[Envelope], report: &mut TraceReport) {
    let mut last: BTreeMap<&str, (usize, Digests)> = BTreeMap::new();
    for (index, envelope) in envelopes.iter().enumerate() {
        let Some(digests) = digests_of(envelope) else { continue };
        let place = format!("$[{index}].payload.digests");
        for (name, digest) in [("context_in", &digests.context_in), ("context_out", &digests.context_out)] {
            if !is_digest(digest) {
                report.warnings.push(format!("{place}.{name}"), "placeholder", "is not a SHA-256 digest");
            }
        }
        let run = envelope.payload.get("run_id").and_then(Value::as_str).unwrap_or_default();
        let Some((earlier, before)) = last.insert(run, (index, digests.clone())) else { continue };
        // The four-event form repeats the digests of one step.
        if before != digests && before.context_out != digests.context_in {
            let message = format!("the context changed between $[{earlier}] and here");
            report.findings.push(format!("{place}.context_in"), "digest_chain", message);
        }
    }
}

pub(super) fn digests_of(envelope: &Envelope) -> Option<Digests> {
    let digests = envelope.payload.get("digests").filter(|_| intents::is_layer_event(&envelope.intent))?;
    serde_json::from_value(digests.clone()).ok()
}

/// Whether it is a digest, and not a placeholder such as `sha256:...`.
pub(super) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A summary may report only bypasses and branches that have an event.
fn check_silence(envelopes: &[Envelope], findings: &mut Findings) {
    let told = |intent: &'static str| envelopes.iter().filter(move |envelope| envelope.intent == intent);
    let bypassed: BTreeSet<String> = told(intents::CONTROL_BYPASS)
        .filter_map(read::<Bypass>)
        .filter(|bypass| bypass.allowed)
        .flat_map(|bypass| bypass.layers)
        .collect();
    for (index, envelope) in envelopes.iter().enumerate() {
        if envelope.intent != intents::RUN_SUMMARY {
            continue;
        }
        let Some(summary) = read::<RunSummary>(envelope) else { continue };
        for layer in summary.layers_bypassed.iter().filter(|layer| !bypassed.contains(*layer)) {
            let message = format!("no {} event allowed `{layer}` to be skipped", intents::CONTROL_BYPASS);
            findings.push(format!("$[{index}].payload.layers_bypassed"), "silent_bypass", message);
        }
        if summary.branch_taken.is_some() && told(intents::CONTROL_BRANCH).next().is_none() {
            let message = format!("no {} event reports it", intents::CONTROL_BRANCH);
            findings.push(format!("$[{index}].payload.branch_taken"), "silent_branch", message);
        }
    }
}

pub(super) fn read<T: serde::de::DeserializeOwned>(envelope: &Envelope) -> Option<T> {
    serde_json::from_value(Value::Object(envelope.payload.clone())).ok()
}

#[cfg(test)]
mod tests;
