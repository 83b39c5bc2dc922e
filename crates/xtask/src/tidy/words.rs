//! Forbidden words: markers of unfinished work, paths of one machine, and registry hosts.

use super::Violation;
use super::tree::{File, Tree};

// The forbidden words are written in two halves, so that this file follows its own rules.
const UNFINISHED: &str = concat!("FIX", "ME");
const LATER: &str = concat!("TO", "DO");
const DEBUG: &str = concat!("dbg", "!(");

/// Paths that exist only on one machine.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];

/// Package registries: each machine configures its own.
const HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
];

/// The only source that the lockfile may name.
const LOCK_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            for (rule, message) in faults(file, line) {
                found.push(Violation::new(rule, &file.path, number, message));
            }
        }
    }
    found
}

fn faults(file: &File, line: &str) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    // Documents may discuss these words; code may not contain them.
    if !file.has_ending("md") {
        faults.extend(unfinished(file, line));
    }
    for path in MACHINE_PATHS.iter().filter(|path| names_machine_path(line, path)) {
        faults.push(("machine-path", format!("names `{path}`, a path on one machine")));
    }
    for host in HOSTS.iter().filter(|host| line.contains(*host)) {
        faults.push(("registry-host", format!("names the host `{host}`")));
    }
    if file.path == "Cargo.lock" {
        let source = line.strip_prefix("source = \"").and_then(|rest| rest.strip_suffix('"'));
        if let Some(source) = source.filter(|source| *source != LOCK_SOURCE) {
            faults.push(("registry-host", format!("a package comes from `{source}`")));
        }
    }
    faults
}

fn unfinished(file: &File, line: &str) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    if has_word(line, UNFINISHED) {
        faults.push(("unfinished", format!("{UNFINISHED} may not be committed: fix it, or open an issue")));
    }
    if line.find(LATER).is_some_and(|at| !line[at + LATER.len()..].contains(char::is_alphanumeric)) {
        faults.push(("unfinished", format!("a {LATER} that does not say what has to be done")));
    }
    if file.is_rust() && line.contains(DEBUG) {
        faults.push(("unfinished", "a debugging macro was left in".to_owned()));
    }
    faults
}

/// Whether the line has the word, or the words, and not only as a part of longer ones.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// Whether an absolute path starts here. `.writ/<path>` and `https://host/<path>` do not count.
fn names_machine_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = &line[..at];
        let inside_other_path = before.ends_with(|c: char| c.is_alphanumeric() || ".-_~*{}<>$/)".contains(c));
        !inside_other_path || before.ends_with("file://")
    })
}
