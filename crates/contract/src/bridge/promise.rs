//! Promise tags: how an agent reports its outcome when it has no exit code.

use crate::aee::judge;
use crate::bridge::learning::text_of;
use crate::bridge::markdown;
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::words;
use crate::verdict::Verdict;

const KIND: &str = "promise";
const OPEN: &str = "<promise>";
const CLOSE: &str = "</promise>";

words! {
    Promise {
        Done = "DONE",
        Blocked = "BLOCKED",
        Partial = "PARTIAL",
        /// There was nothing to do.
        Empty = "EMPTY",
    }
}

/// The promise of a text, and the paragraph that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    pub promise: Promise,
    pub detail: String,
}

/// The last promise of a text. Code does not count; an unknown word gives no signal. A signal is a
/// claim: artifacts and checks still decide.
pub fn read(text: &str) -> Option<Signal> {
    let (word, rest) = last_tag(text)?;
    Some(Signal { promise: Promise::parse(word)?, detail: markdown::first_paragraph(rest) })
}

/// The joint promise of a list of child tasks, one per line with its state.
pub fn of_children(list: &str) -> Promise {
    let has = |line: &str, words: &[&str]| {
        line.split_whitespace().any(|word| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    let mut lines = list.lines().filter(|line| !line.trim().is_empty());
    if lines.clone().any(|line| has(line, &["blocked"])) {
        return Promise::Blocked;
    }
    let all_closed = lines.all(|line| has(line, &["closed", "✓"]));
    if all_closed { Promise::Done } else { Promise::Partial }
}

/// Validates a text: its last promise must be known. `details.promise` has the promise.
pub fn validate(bytes: &[u8]) -> Verdict {
    let text = match text_of(KIND, bytes) {
        Ok(text) => text,
        Err(refused) => return *refused,
    };
    let mut findings = Findings::default();
    let word = last_tag(text).map(|(word, _)| word);
    match word {
        None => findings.push("$.promise", "missing", "the promise tag is missing"),
        Some(word) if Promise::parse(word).is_none() => {
            findings.push("$.promise", "enum", format!("must be one of {}", Promise::WORDS.join(", ")));
        }
        Some(_) => {}
    }
    let mut verdict = judge::rule(KIND, "promise found", findings, Findings::default());
    if let Some(promise) = word.and_then(Promise::parse) {
        verdict.details.more.insert("promise".to_owned(), Value::from(promise.as_str()));
    }
    verdict
}

/// The word in the last tag, and the text after it.
fn last_tag(text: &str) -> Option<(&str, &str)> {
    let tag = |line: markdown::MarkdownLine<'_>| {
        let from = line.text.rfind(OPEN).filter(|at| !is_in_code(&line.text[..*at]))? + OPEN.len();
        let to = from + line.text[from..].find(CLOSE)?;
        Some((line.start + from, line.start + to))
    };
    let (from, to) = markdown::prose(text).filter_map(tag).last()?;
    Some((text[from..to].trim(), &text[to + CLOSE.len()..]))
}

fn is_in_code(before: &str) -> bool {
    before.matches('`').count() % 2 == 1
}

#[cfg(test)]
mod tests;
