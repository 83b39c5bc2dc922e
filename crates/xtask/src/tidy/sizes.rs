//! Size limits of files and functions.

use super::Violation;
use super::tree::{BLOB_BYTES_MAX, File, Tree};

const FILE_LINES_NOTED: usize = 400;
const FILE_LINES_MAX: usize = 800;
/// For a file with one verb or one command. What does not fit should be two files.
const VERB_LINES_MAX: usize = 200;
/// A function fits on a screen, with its signature and closing brace.
const FUNCTION_LINES_MAX: usize = 70;

const SOURCE_ENDINGS: &[&str] = &["rs", "js", "css", "html", "sh"];

pub(super) fn files(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in sources(tree) {
        let lines = file.product_lines();
        if lines > FILE_LINES_MAX {
            let message = format!("{lines} lines; the limit is {FILE_LINES_MAX}");
            found.push(Violation::new("file-size", &file.path, 0, message));
        } else if is_verb(file) && lines > VERB_LINES_MAX {
            let message = format!("{lines} lines; one verb or command has at most {VERB_LINES_MAX}");
            found.push(Violation::new("verb-size", &file.path, 0, message));
        }
    }
    found
}

/// Files that are long but still within the limit.
pub(super) fn notes(tree: &Tree) -> Vec<String> {
    let long = sources(tree).filter(|file| file.product_lines() > FILE_LINES_NOTED);
    long.map(|file| format!("{} has {} lines", file.path, file.product_lines())).collect()
}

pub(super) fn blobs(tree: &Tree) -> Vec<Violation> {
    let too_big = tree.files.iter().filter(|file| file.bytes > BLOB_BYTES_MAX);
    too_big
        .map(|file| {
            let message = format!("{} KiB; the limit is {} KiB", file.bytes / 1024, BLOB_BYTES_MAX / 1024);
            Violation::new("blob", &file.path, 0, message)
        })
        .collect()
}

pub(super) fn functions(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        let lines: Vec<&str> = file.text.lines().take(file.product_lines()).collect();
        for (start, first) in lines.iter().enumerate() {
            let Some(name) = function_name(first) else { continue };
            let length = function_lines(&lines[start..]);
            if length > FUNCTION_LINES_MAX {
                let message = format!("`{name}` has {length} lines; the limit is {FUNCTION_LINES_MAX}");
                found.push(Violation::new("function-size", &file.path, start + 1, message));
            }
        }
    }
    found
}

fn sources(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| SOURCE_ENDINGS.iter().any(|ending| file.has_ending(ending)))
}

/// `crates/ops/src/task/claim.rs` and `crates/cli/src/commands/…`; the files directly in `ops/src` are shared code.
fn is_verb(file: &File) -> bool {
    let op = file.path.strip_prefix("crates/ops/src/").is_some_and(|rest| rest.contains('/'));
    let command = file.path.starts_with("crates/cli/src/commands/");
    (op || command) && file.is_rust() && !file.is_test()
}

/// The name, if this line of formatted code opens a function.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    while let Some(after) = strip_qualifier(rest) {
        rest = after;
    }
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| &rest[..end])
}

fn strip_qualifier(text: &str) -> Option<&str> {
    if let Some(scoped) = text.strip_prefix("pub(") {
        return scoped.split_once(") ").map(|(_, rest)| rest);
    }
    ["pub ", "const ", "async ", "unsafe ", "extern \"C\" "].iter().find_map(|word| text.strip_prefix(word))
}

/// How many lines the function has that starts on the first line. rustfmt puts the closing brace into the column of the
/// opening line, so columns are enough; a raw string with such a line only makes a function look shorter.
fn function_lines(lines: &[&str]) -> usize {
    let column = indent(lines[0]);
    let mut has_body = false;
    for (index, line) in lines.iter().enumerate() {
        let at_column = indent(line) == column && !line.trim().is_empty();
        let ends_here = if index == 0 {
            line.ends_with('}') || line.ends_with(';')
        } else {
            // `;` before any body: a declaration in a trait.
            (at_column && line.trim_start().starts_with('}')) || (!has_body && line.ends_with(';'))
        };
        if ends_here {
            return index + 1;
        }
        has_body |= (index == 0 || at_column) && line.ends_with('{');
    }
    lines.len()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
