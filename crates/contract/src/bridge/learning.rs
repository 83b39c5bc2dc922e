//! Learning files under `.agents/learnings/`: Markdown with frontmatter, written by both sides and by people.

mod lint;
mod reading;

pub use lint::validate;
pub(crate) use reading::text_of;
pub use reading::{parse, parse_jsonl};

use crate::bridge::candidate::{
    self, KnowledgeType, LearningCandidate, MATURITY_DEFAULT, Source, TIER_DEFAULT, UTILITY_DEFAULT,
};
use crate::bridge::frontmatter;
use crate::digest;
use crate::json::{Map, Value};

/// The marker of where a learning came from when OL harvested it.
pub const HARVEST_SOURCE: &str = "ol-harvest";

/// One learning, as far as it could be read. Readers are tolerant: a missing field is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    /// From the frontmatter, else the file's stem; further blocks of one file get `#2`, `#3`, ….
    pub id: String,
    /// `None` where the file has an unknown type.
    pub kind: Option<KnowledgeType>,
    /// The heading as written, with a prefix such as `Learning: `.
    pub title: String,
    /// The first paragraph.
    pub summary: String,
    /// Everything below the heading.
    pub body: String,
    pub created_at: Option<String>,
    pub tags: Vec<String>,
    /// Between 0 and 1; words are read as numbers.
    pub confidence: Option<f64>,
    pub utility: Option<f64>,
    pub maturity: Option<String>,
    pub source: Option<String>,
    pub quest_id: Option<String>,
    /// Another learning replaced it.
    pub is_superseded: bool,
}

impl From<Learning> for LearningCandidate {
    fn from(learning: Learning) -> Self {
        let mut metadata = Map::new();
        metadata.insert("tags".to_owned(), Value::from(learning.tags));
        if let Some(quest_id) = learning.quest_id {
            metadata.insert("quest_id".to_owned(), Value::from(quest_id));
        }
        let at = learning.created_at.unwrap_or_default();
        LearningCandidate {
            id: learning.id,
            kind: learning.kind.unwrap_or(KnowledgeType::Learning),
            content: without_prefix(&learning.title).to_owned(),
            context: learning.body.trim().to_owned(),
            source: Source { timestamp: at.clone(), ..Source::default() },
            extracted_at: at,
            metadata,
            is_current: !learning.is_superseded,
            utility: learning.utility.unwrap_or(UTILITY_DEFAULT),
            maturity: learning.maturity.unwrap_or_else(|| MATURITY_DEFAULT.to_owned()),
            tier: TIER_DEFAULT.to_owned(),
            confidence: learning.confidence,
            extra: Map::new(),
        }
    }
}

/// Prints a candidate as a learning file that AO finds: the frontmatter it reads, a heading, the text.
pub fn render(candidate: &LearningCandidate) -> String {
    let metadata = |name: &str| candidate.metadata.get(name).cloned();
    let mut fields = vec![
        ("id", Value::from(candidate.id.as_str())),
        ("type", Value::from(candidate.kind.as_str())),
        ("source", Value::from(HARVEST_SOURCE)),
        ("quest_id", metadata("quest_id").unwrap_or_else(|| Value::from(""))),
        ("created_at", Value::from(candidate.extracted_at.as_str())),
        ("tags", metadata("tags").unwrap_or_else(|| Value::Array(Vec::new()))),
    ];
    if let Some(category) = metadata("category").filter(|category| *category != "") {
        fields.push(("category", category));
    }
    if candidate.maturity == candidate::ANTI_PATTERN {
        fields.push(("maturity", Value::from(candidate.maturity.as_str())));
    }
    // A heading is one line; anything else in it would become part of the text.
    let title = candidate.content.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}\n# {title}\n\n{}\n", frontmatter::render(&fields), candidate.context.trim())
}

/// The file a learning is kept in. Ids that are not plain file names get a readable one with a digest, so that
/// two of them never meet and none leaves the folder.
pub fn file_name(id: &str) -> String {
    const PLAIN_CHARS_MAX: usize = 100;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=PLAIN_CHARS_MAX).contains(&id.len()) && id.chars().all(is_plain) && !id.starts_with('.') {
        return format!("{id}.md");
    }
    let slug: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let digest = digest::of_bytes(id.as_bytes());
    let short = &digest["sha256:".len()..][..8];
    format!("learning-{}-{short}.md", slug.trim_matches('-'))
}

/// A heading without the word that says its type.
pub fn without_prefix(title: &str) -> &str {
    match title.split_once(':') {
        Some((word, rest)) if KnowledgeType::parse(&word.to_ascii_lowercase()).is_some() => rest.trim(),
        _ => title.trim(),
    }
}

#[cfg(test)]
mod tests;
