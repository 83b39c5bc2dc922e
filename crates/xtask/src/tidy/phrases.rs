//! Odd phrases, each with what to write instead: code, help, messages and documents use plain technical terms.

use super::Violation;
use super::tree::{File, Tree};
use super::words::has_word;

// The phrases are written in two halves, so that this file follows its own rule.
const PHRASES: &[(&str, &str)] = &[
    (concat!("who", "ever"), "name the caller, the holder or the process"),
    (concat!("is no", " command"), "must name a program"),
    (concat!("is no", " length of"), "invalid duration"),
    (concat!("in the", " way of"), "conflicts with, blocks"),
    (concat!("in its", " way"), "conflicts with, blocks"),
    (concat!("stands in", " the way"), "conflicts with, blocks"),
    (concat!("a word", " too"), "use 0 for none"),
    (concat!("heard", " of"), "heartbeat, lease"),
    (concat!("that it", " lives"), "heartbeat"),
    (concat!("what it", " came to"), "result, outcome"),
    (concat!("what that", " came to"), "result, outcome"),
    (concat!("what came", " of"), "result, outcome"),
    (concat!("against", " itself"), "check consistency"),
    (concat!("cannot stand", " on this"), "say what is required"),
    (concat!("which is", " a no"), "denied"),
    (concat!("person's", " word"), "approval"),
    (concat!("for", " ever"), "forever, never ends"),
];

/// Formats that people read. Migrations are never edited, and JSON files are mostly data.
const ENDINGS: &[&str] = &["rs", "md", "toml", "snap"];

/// Records of the past.
const DECISIONS: &str = "docs/decisions/";
const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files.iter().filter(|file| is_checked(file)).flat_map(faults).collect()
}

fn is_checked(file: &File) -> bool {
    ENDINGS.iter().any(|ending| file.has_ending(ending)) && !file.path.starts_with(DECISIONS)
}

fn faults(file: &File) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in file.lines().take(checked_lines(file)) {
        // Names of tests are sentences, too.
        let text = line.to_lowercase().replace('_', " ");
        for (phrase, instead) in PHRASES {
            if has_word(&text, phrase) {
                let message = format!("`{phrase}` is an odd phrase; write plain words ({instead})");
                found.push(Violation::new("odd-phrase", &file.path, number, message));
            }
        }
    }
    found
}

/// All lines; in the changelog, those before the first released section.
fn checked_lines(file: &File) -> usize {
    let is_released = |line: &str| line.starts_with("## [") && line.trim() != "## [Unreleased]";
    let released = (file.path == CHANGELOG).then(|| file.text.lines().position(is_released)).flatten();
    released.unwrap_or(usize::MAX)
}
