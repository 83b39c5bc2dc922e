//! The structure of the documents, and the size of the lockfile.

use super::Violation;
use super::tree::Tree;

/// How many packages the lockfile may hold. Each one is code that users have to trust and build.
const LOCK_PACKAGES_MAX: usize = 450;

const DECISION_HEADINGS: &[&str] = &["Context", "Decision", "Consequences"];

/// Decisions are `docs/decisions/0001-title.md` with three headings, for the reason and the consequences.
pub(super) fn decisions(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix("docs/decisions/") else { continue };
        if !is_decision_name(name) {
            let message = "is not named like 0001-what-was-decided.md";
            found.push(Violation::new("decision", &file.path, 0, message));
            continue;
        }
        for heading in DECISION_HEADINGS {
            let has = file
                .lines()
                .any(|(_, line)| line.trim_start_matches('#').trim() == *heading && line.starts_with('#'));
            if !has {
                found.push(Violation::new("decision", &file.path, 0, format!("has no heading `{heading}`")));
            }
        }
    }
    found
}

fn is_decision_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".md") else { return false };
    let Some((number, title)) = stem.split_once('-') else { return false };
    let numbered = number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit());
    let titled = !title.is_empty()
        && !title.starts_with('-')
        && title.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    numbered && titled
}

pub(super) fn changelog(tree: &Tree) -> Vec<Violation> {
    let path = "CHANGELOG.md";
    let has =
        tree.file(path).is_some_and(|file| file.lines().any(|(_, line)| line.trim() == "## [Unreleased]"));
    if has {
        Vec::new()
    } else {
        vec![Violation::new("changelog", path, 0, "has no section `## [Unreleased]`")]
    }
}

pub(super) fn lockfile(tree: &Tree) -> Vec<Violation> {
    let path = "Cargo.lock";
    let Some(file) = tree.file(path) else {
        return vec![Violation::new("lockfile", path, 0, "is missing")];
    };
    let packages = file.lines().filter(|(_, line)| *line == "[[package]]").count();
    if packages <= LOCK_PACKAGES_MAX {
        return Vec::new();
    }
    let message = format!("{packages} packages; the budget is {LOCK_PACKAGES_MAX}");
    vec![Violation::new("lockfile", path, 0, message)]
}

/// Files that tools leave behind and that should not be committed.
pub(super) fn leftovers(tree: &Tree) -> Vec<Violation> {
    let endings = ["pending-snap", "snap.new", "orig", "rej", "db", "db-wal", "db-shm"];
    let mut found = Vec::new();
    for file in &tree.files {
        if let Some(ending) = endings.iter().find(|ending| file.path.ends_with(&format!(".{ending}"))) {
            let message = format!("a tool left this .{ending} file behind");
            found.push(Violation::new("leftover", &file.path, 0, message));
        }
    }
    found
}
