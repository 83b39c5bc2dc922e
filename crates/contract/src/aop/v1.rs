//! AOP v1, the protocol of prompts and free text: detects it, writes it, and converts it to v2.

mod lift;
mod loss;
mod prompt;

pub use lift::{MODEL_UNNAMED, V1Reply, lift_response, lift_task};
pub use loss::{ConversionLoss, loss};
pub use prompt::prompt;
pub(super) use prompt::prompt_from_raw;

/// The first line of a v2 task written as a v1 prompt.
pub const COMPATIBILITY_HEADER: &str = "=== TASK (AOP v1 Compatibility Mode) ===";

/// Words that open a line of a v1 prompt.
const KEYWORDS: [&str; 6] = ["task", "objective", "agent", "executor", "context", "requirements"];

/// The headings of a v1 task document, and how many of them are enough to detect one.
const SECTIONS: [&str; 7] =
    ["environment", "tooling", "context", "instructions", "verification", "delegation", "closure"];
const SECTIONS_MIN: usize = 3;

/// Whether a text is a v1 prompt. A keyword counts only where it opens a line: prose mentions tasks all the time.
pub fn is_v1(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let first_heading = headings(text).next().unwrap_or_default();
    first_heading.trim() == "ORCHESTRATION_TASK"
        || text.lines().any(|line| line.trim() == COMPATIBILITY_HEADER || opens_with_keyword(line))
        || text.lines().any(names_protocol)
        || sections(text) >= SECTIONS_MIN
}

fn opens_with_keyword(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#*-".contains(c));
    let word = line.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let keyword = &line[..line.len() - word.len()];
    word.trim_start_matches('*').starts_with(':')
        && KEYWORDS.iter().any(|known| keyword.eq_ignore_ascii_case(known))
}

fn names_protocol(line: &str) -> bool {
    let bare: String = line.chars().filter(|c| *c != '*').collect();
    let Some((name, value)) = bare.split_once(':') else { return false };
    name.trim().eq_ignore_ascii_case("protocol") && value.trim().to_ascii_lowercase().starts_with("aop v1")
}

fn sections(text: &str) -> usize {
    let mut found: Vec<String> = headings(text)
        .map(|heading| heading.trim_start_matches(|c: char| c == '.' || c == ' ' || c.is_ascii_digit()))
        .map(|heading| heading.trim().to_ascii_lowercase())
        .filter(|heading| SECTIONS.contains(&heading.as_str()))
        .collect();
    found.sort();
    found.dedup();
    found.len()
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#'))
}

#[cfg(test)]
mod tests;
