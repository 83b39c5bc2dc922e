//! Finds the verdict in a report, in the forms people use.

use super::Outcome;
use crate::bridge::{frontmatter, markdown};

/// The verdict of a report; no verdict is not a pass. The council's own heading comes first, then other headings,
/// then the frontmatter, then a line such as `Verdict: PASS`. Code does not count.
pub fn read_report(text: &str) -> Option<Outcome> {
    // A report with broken frontmatter is still a report.
    let (fields, body) = match frontmatter::parse(text) {
        Ok(document) => (document.fields.unwrap_or_default(), document.body),
        Err(_) => (frontmatter::Fields::default(), text),
    };
    under_heading(body, &["## Council Verdict", "## Council Consensus"])
        .or_else(|| under_heading(body, &["## Verdict"]))
        .or_else(|| fields.text("verdict").and_then(first_word))
        .or_else(|| on_line(body))
}

/// `## Verdict: PASS`, or the heading alone and the word below it.
fn under_heading(body: &str, headings: &[&str]) -> Option<Outcome> {
    let mut lines = markdown::prose(body).map(|line| line.text.trim());
    while let Some(line) = lines.next() {
        let Some(rest) = headings.iter().find_map(|heading| line.strip_prefix(heading)) else { continue };
        let said = match rest.strip_prefix(':').unwrap_or(rest).trim() {
            "" => lines.by_ref().find(|line| !line.is_empty()),
            _ if !rest.starts_with(':') => None,
            word => Some(word),
        };
        if let Some(outcome) = said.and_then(first_word) {
            return Some(outcome);
        }
    }
    None
}

/// `Verdict: PASS` or `**Verdict:** PASS` at the start of a line.
fn on_line(body: &str) -> Option<Outcome> {
    markdown::prose(body).find_map(|line| {
        let plain = line.text.trim().trim_start_matches(['*', '_']);
        first_word(plain.strip_prefix("Verdict")?.trim_start_matches(['*', '_']).strip_prefix(':')?)
    })
}

/// `WARN → PASS (after fixes)` was a warning: the first word is what the council said.
fn first_word(text: &str) -> Option<Outcome> {
    let text = text.trim_start_matches(['*', '_', '`', ' ']);
    Outcome::parse(text.split(|c: char| !c.is_ascii_alphabetic()).next()?)
}
