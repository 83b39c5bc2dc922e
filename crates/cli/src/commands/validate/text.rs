//! A verdict for people.

use contract::finding::Finding;
use contract::verdict::Verdict;

/// The verdict in one line, then every finding and warning with its place.
pub(super) fn of(verdict: &Verdict) -> String {
    let details = &verdict.details;
    let word = if verdict.allow { "allowed" } else { "denied" };
    let mut text = format!("{word}: {} ({}) {}\n", verdict.code, details.kind, verdict.reason);
    for (label, list) in [("", &details.findings), ("warning: ", &details.warnings)] {
        for finding in list {
            text.push_str(&line(label, finding));
        }
    }
    text
}

fn line(label: &str, finding: &Finding) -> String {
    format!("  {label}{} {} [{}]\n", finding.path, finding.message, finding.rule)
}
