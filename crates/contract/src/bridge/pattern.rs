//! Pattern files under `.agents/patterns/`: a name, a short description, and how far it is trusted.

use crate::aee::judge;
use crate::bridge::learning::text_of;
use crate::bridge::{frontmatter, markdown};
use crate::finding::Findings;
use crate::verdict::Verdict;

const KIND: &str = "pattern";

/// One pattern. Frontmatter is optional.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// The heading, else the file's stem.
    pub name: String,
    /// The first paragraph.
    pub description: String,
    pub utility: Option<f64>,
    pub maturity: Option<String>,
}

/// Reads a pattern file. `stem` is the file's name without its ending.
pub fn parse(stem: &str, bytes: &[u8]) -> Result<Pattern, Box<Verdict>> {
    let text = text_of(KIND, bytes)?;
    let document = frontmatter::parse(text)
        .map_err(|error| judge::refuse_whole(KIND, "frontmatter", error.to_string()))?;
    let fields = document.fields.unwrap_or_default();
    Ok(Pattern {
        name: markdown::title(document.body).unwrap_or(stem).to_owned(),
        description: markdown::first_paragraph(document.body),
        utility: fields.number("utility").filter(|utility| (0.0..=1.0).contains(utility)),
        maturity: fields.text("maturity").map(str::to_owned),
    })
}

/// Validates a pattern file. Strict mode refuses a pattern without content.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    let pattern = match parse("", bytes) {
        Ok(pattern) => pattern,
        Err(refused) => return *refused,
    };
    let mut found = Findings::default();
    if pattern.name.is_empty() {
        found.push("$", "no_title", "there is no `# ` heading");
    }
    if pattern.description.is_empty() {
        found.push("$", "no_description", "there is no paragraph");
    }
    let (findings, warnings) =
        if strict { (found, Findings::default()) } else { (Findings::default(), found) };
    judge::rule(KIND, "pattern valid", findings, warnings)
}

#[cfg(test)]
mod tests;
