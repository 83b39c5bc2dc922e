//! `docs/conformance.md`: each id appears once, has a known state, and names tests that exist.

use std::collections::BTreeMap;

use super::Violation;
use super::tree::{File, Tree};

const PAGE: &str = "docs/conformance.md";
const STATES: &[&str] = &["LIVE", "DOC", "MISSING", "WRONG"];
const COLUMNS: &str = "id, statement, state, test, note";

struct Row<'p> {
    id: &'p str,
    state: &'p str,
    tests: &'p str,
}

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Violation::new("conformance", PAGE, 0, "is missing")];
    };
    let mut found = Vec::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, text) in page.lines().filter(|(_, text)| is_row(text)) {
        let mut report = |message: String| found.push(Violation::new("conformance", PAGE, line, message));
        let row = match row(text) {
            Ok(row) => row,
            Err(message) => {
                report(message);
                continue;
            }
        };
        if let Some(earlier) = first.insert(row.id, line) {
            report(format!("`{}` is also in line {earlier}", row.id));
        }
        row_faults(tree, &row).into_iter().for_each(report);
    }
    found
}

/// A table row that starts with an id: three digits and a dot, as in `001.A-c`.
fn is_row(text: &str) -> bool {
    let id = text.strip_prefix("| ").unwrap_or_default().as_bytes();
    id.len() > 4 && id[..3].iter().all(u8::is_ascii_digit) && id[3] == b'.'
}

fn row(text: &str) -> Result<Row<'_>, String> {
    let cells: Vec<&str> = text.trim().trim_matches('|').split('|').map(str::trim).collect();
    match cells.as_slice() {
        [id, _, state, tests, _] => Ok(Row { id, state, tests }),
        _ => Err(format!("`{}` has {} cells, and needs {COLUMNS}", cells[0], cells.len())),
    }
}

fn row_faults(tree: &Tree, row: &Row<'_>) -> Vec<String> {
    let Row { id, state, tests } = row;
    let mut faults = Vec::new();
    if !STATES.contains(state) {
        faults.push(format!("`{id}` has the state `{state}`; the states are {}", STATES.join(", ")));
    }
    let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
    if named.is_empty() && *state == "LIVE" {
        faults.push(format!("`{id}` is LIVE and names no test"));
    }
    for name in named {
        if !exists(tree, name) {
            let nearest = nearest(tree, name).map_or(String::new(), |test| format!("; nearest: `{test}`"));
            faults.push(format!("`{id}` names the test `{name}`, which does not exist{nearest}"));
        }
    }
    faults
}

/// A test is named by its file and its function: `crates/store/tests/it/chain.rs::an_empty_store_is_clean`.
fn exists(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    tree.file(path).is_some_and(|file| {
        tests_of(file).any(|found| found == name) || (makes_tests(file) && has_word(&file.text, name))
    })
}

/// The functions with a `#[test]` among the lines right above them.
fn tests_of(file: &File) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let is_test = move |at: usize| {
        let above = lines[..at].iter().rev();
        let mut attributes = above.take_while(|line| !line.is_empty() && !line.ends_with(['}', '{']));
        attributes.any(|line| *line == "#[test]")
    };
    let functions = file.text.lines().enumerate().filter_map(|(at, line)| Some((at, function(line.trim())?)));
    functions.filter(move |(at, _)| is_test(*at)).map(|(_, name)| name)
}

fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn ")?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Whether a macro in this file generates tests, so that a test may be only a word in its call.
fn makes_tests(file: &File) -> bool {
    let mut lines = file.text.lines().map(str::trim).skip_while(|line| *line != "#[test]");
    file.text.contains("macro_rules!") && lines.any(|line| line.starts_with("fn $"))
}

fn has_word(text: &str, word: &str) -> bool {
    !word.is_empty() && text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// The same name in another file, or else the most similar name, preferably in the same file.
fn nearest(tree: &Tree, test: &str) -> Option<String> {
    let (path, name) = test.split_once("::").unwrap_or(("", test));
    let all = tree.rust().flat_map(|file| tests_of(file).map(move |found| (file, found)));
    let distance = |(file, found): &(&File, &str)| (edits(name, found), file.path != path);
    let (file, found) = all.min_by_key(distance)?;
    (edits(name, found) <= name.len() / 2).then(|| format!("{}::{found}", file.path))
}

/// The edit distance: how many letters must be added, removed or replaced to turn one text into the other.
fn edits(one: &str, other: &str) -> usize {
    let other = other.as_bytes();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests;
