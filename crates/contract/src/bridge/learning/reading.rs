//! Reads learning files in the forms that exist in practice.

use super::Learning;
use crate::aee::judge;
use crate::bridge::candidate::KnowledgeType;
use crate::bridge::frontmatter::{self, Fields};
use crate::bridge::markdown;
use crate::domain::limits;
use crate::json::Value;
use crate::verdict::Verdict;

pub(super) const KIND: &str = "learning";

/// Reads the learnings of a Markdown file. `stem` is the file's name without its ending.
pub fn parse(stem: &str, bytes: &[u8]) -> Result<Vec<Learning>, Box<Verdict>> {
    let text = text_of(KIND, bytes)?;
    let document = frontmatter::parse(text)
        .map_err(|error| judge::refuse_whole(KIND, "frontmatter", error.to_string()))?;
    let fields = document.fields.unwrap_or_default();
    let blocks = blocks(document.body);
    let several = blocks.len() > 1;
    let read = |(index, block): (usize, &str)| {
        let mut learning = learning(stem, &fields, block);
        if several && index > 0 {
            learning.id = format!("{}#{}", learning.id, index + 1);
        }
        learning
    };
    Ok(blocks.into_iter().enumerate().map(read).collect())
}

/// Reads a learning that is kept as the first line of a JSONL file.
pub fn parse_jsonl(stem: &str, bytes: &[u8]) -> Result<Learning, Box<Verdict>> {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let object = judge::read_object(KIND, line)?;
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| object.get(name).and_then(Value::as_f64);
    let body = text("summary").or_else(|| text("content")).unwrap_or_default();
    let tags = object.get("tags").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(Learning {
        id: text("id").unwrap_or_else(|| stem.to_owned()),
        kind: kind(text("type").as_deref(), None),
        title: text("title").unwrap_or_else(|| markdown::first_sentence(&body).to_owned()),
        summary: markdown::first_paragraph(&body),
        created_at: text("created_at").or_else(|| text("date")),
        tags: tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        confidence: number("confidence")
            .or_else(|| confidence(&text("confidence")?))
            .filter(|share| is_share(*share)),
        utility: number("utility").filter(|share| is_share(*share)),
        maturity: text("maturity"),
        source: text("source"),
        quest_id: text("quest_id"),
        is_superseded: text("superseded_by").is_some_and(|id| !id.is_empty()),
        body,
    })
}

/// The text of a file, within the limits.
pub(crate) fn text_of<'b>(kind: &str, bytes: &'b [u8]) -> Result<&'b str, Box<Verdict>> {
    if bytes.len() > limits::DOCUMENT_BYTES_MAX {
        let message =
            format!("allows at most {} bytes, has {}", limits::DOCUMENT_BYTES_MAX, crate::json::size(bytes));
        return Err(judge::refuse_whole(kind, "too_large", message));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| judge::refuse_whole(kind, "utf8", "the file is not valid UTF-8"))?;
    if text.trim().is_empty() {
        return Err(judge::refuse_whole(kind, "empty_input", "the file is empty"));
    }
    Ok(text)
}

/// Some files hold several learnings, each under its own `# Learning:` heading.
fn blocks(body: &str) -> Vec<&str> {
    let is_typed = |line: &markdown::MarkdownLine<'_>| {
        line.text.strip_prefix("# ").is_some_and(|title| super::without_prefix(title) != title.trim())
    };
    let starts: Vec<usize> = markdown::prose(body).filter(is_typed).map(|line| line.start).collect();
    if starts.len() < 2 {
        return vec![body];
    }
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    starts.iter().zip(ends).map(|(start, end)| &body[*start..end]).collect()
}

fn learning(stem: &str, fields: &Fields, block: &str) -> Learning {
    let text = |name: &str| fields.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    // Promoted files have bold lines instead of frontmatter.
    let said = |name: &str, bold: &str| text(name).or_else(|| bold_field(block, bold));
    let title = markdown::title(block).map_or_else(|| stem.to_owned(), str::to_owned);
    let body = body_of(block);
    Learning {
        id: said("id", "ID").unwrap_or_else(|| stem.to_owned()),
        kind: kind(text("type").as_deref(), Some(&title)),
        summary: markdown::first_paragraph(body),
        created_at: text("created_at").or_else(|| said("date", "Date")),
        tags: fields.texts("tags"),
        confidence: said("confidence", "Confidence").as_deref().and_then(confidence),
        utility: said("utility", "Utility")
            .and_then(|text| text.parse().ok())
            .filter(|share| is_share(*share)),
        maturity: said("maturity", "Maturity"),
        source: text("source"),
        quest_id: text("quest_id"),
        is_superseded: text("superseded_by").or_else(|| text("superseded-by")).is_some(),
        title,
        body: body.to_owned(),
    }
}

/// The text below the first heading.
fn body_of(block: &str) -> &str {
    markdown::heading(block).map_or(block, |line| &block[line.start + line.text.len()..])
}

fn bold_field(block: &str, name: &str) -> Option<String> {
    let marker = format!("**{name}**:");
    let said = |line: markdown::MarkdownLine<'_>| {
        line.text
            .trim_start()
            .trim_start_matches("- ")
            .strip_prefix(&marker)
            .map(|text| text.trim().to_owned())
    };
    markdown::prose(block).find_map(said).filter(|text| !text.is_empty())
}

/// The `type` field decides; otherwise the heading's prefix; otherwise it is a learning.
fn kind(word: Option<&str>, title: Option<&str>) -> Option<KnowledgeType> {
    if let Some(word) = word {
        return KnowledgeType::parse(word);
    }
    let prefix = title.and_then(|title| title.split_once(':')).map(|(word, _)| word.to_ascii_lowercase());
    prefix.and_then(|word| KnowledgeType::parse(&word)).or(Some(KnowledgeType::Learning))
}

/// A number between 0 and 1, or one of three words.
pub(super) fn confidence(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "high" => Some(0.9),
        "medium" => Some(0.7),
        "low" => Some(0.5),
        number => number.parse().ok().filter(|share| is_share(*share)),
    }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}
