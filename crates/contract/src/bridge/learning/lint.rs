//! Validates a learning file: tolerant by default, or strict by the contract's list of fields.

use super::reading::{KIND, confidence, text_of};
use crate::aee::judge;
use crate::bridge::candidate::KnowledgeType;
use crate::bridge::frontmatter::{self, Fields, MarkdownDocument, YamlNode};
use crate::bridge::markdown;
use crate::domain::time::Timestamp;
use crate::finding::Findings;
use crate::verdict::Verdict;

/// Validates one file. Not strict: refuses only unreadable files, because people write these files by hand;
/// strict: every field that the contract lists must be present and valid.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    let text = match text_of(KIND, bytes) {
        Ok(text) => text,
        Err(refused) => return *refused,
    };
    let document = match frontmatter::parse(text) {
        Ok(document) => document,
        Err(error) => return *judge::refuse_whole(KIND, "frontmatter", error.to_string()),
    };
    let mut found = Findings::default();
    look(&document, &mut found);
    let (findings, warnings) =
        if strict { (found, Findings::default()) } else { (Findings::default(), found) };
    judge::rule(KIND, "learning valid", findings, warnings)
}

fn look(document: &MarkdownDocument<'_>, found: &mut Findings) {
    let none = Fields::default();
    let fields = document.fields.as_ref().unwrap_or(&none);
    if document.fields.is_none() {
        found.push("$", "no_frontmatter", "the frontmatter is missing");
    }
    for name in ["id", "type", "source", "quest_id", "created_at"] {
        match fields.get(name) {
            None => found.push(format!("$.{name}"), "missing", format!("`{name}` is required")),
            Some(YamlNode::Text { .. }) if fields.text(name).is_some_and(|text| !text.trim().is_empty()) => {}
            Some(YamlNode::Text { .. }) => found.push(format!("$.{name}"), "empty", "must not be empty"),
            Some(_) => found.push(format!("$.{name}"), "type", "must be text"),
        }
    }
    match fields.get("tags") {
        None => found.push("$.tags", "missing", "`tags` is required"),
        Some(YamlNode::List(_)) => {}
        Some(_) => found.push("$.tags", "type", "must be a list"),
    }
    if fields.text("type").is_some_and(|word| KnowledgeType::parse(word).is_none()) {
        found.push("$.type", "enum", format!("must be one of {}", KnowledgeType::WORDS.join(", ")));
    }
    if fields.text("created_at").is_some_and(|text| Timestamp::parse(text).is_err()) {
        found.push("$.created_at", "form", "must be a time in RFC 3339 form");
    }
    if fields.text("confidence").is_some_and(|text| confidence(text).is_none()) {
        found.push("$.confidence", "range", "must be between 0 and 1, or high, medium or low");
    }
    if markdown::title(document.body).is_none() {
        found.push("$", "no_title", "there is no `# ` heading");
    }
}
