//! Words that may not stay: markers of unfinished work, and the names of machines.

use super::Violation;
use super::tree::{File, Tree};

// The forbidden words are written in two halves, so that this file keeps its own rules.
const UNFINISHED: &str = concat!("FIX", "ME");
const LATER: &str = concat!("TO", "DO");
const DEBUG: &str = concat!("dbg", "!(");

/// Places of somebody's machine.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];

/// Where packages come from is a matter of each machine's configuration.
const HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
];

/// The one source a lockfile may name.
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
    // Pages may talk about the words; code may not leave them.
    if !file.has_ending("md") {
        faults.extend(unfinished(file, line));
    }
    for path in MACHINE_PATHS.iter().filter(|path| names_machine_path(line, path)) {
        faults.push(("machine-path", format!("names `{path}`, a place on somebody's machine")));
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
        faults.push((
            "unfinished",
            format!("{UNFINISHED} may not be committed: mend it, or say it in an issue"),
        ));
    }
    if line.find(LATER).is_some_and(|at| !line[at + LATER.len()..].contains(char::is_alphanumeric)) {
        faults.push(("unfinished", format!("a {LATER} without a word about what is to be done")));
    }
    if file.is_rust() && line.contains(DEBUG) {
        faults.push(("unfinished", "a debugging macro was left in".to_owned()));
    }
    faults
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// Whether an absolute path starts here: `.writ/<path>` and `https://host/<path>` are something else.
fn names_machine_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = &line[..at];
        let inside_other_path = before.ends_with(|c: char| c.is_alphanumeric() || ".-_~*{}<>$/)".contains(c));
        !inside_other_path || before.ends_with("file://")
    })
}
