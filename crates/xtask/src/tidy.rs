//! `cargo xtask tidy`: the project rules that the compiler does not check.

mod conformance;
mod crates;
mod dialect;
mod documents;
mod exceptions;
mod layers;
mod modules;
mod phrases;
mod purity;
mod sizes;
mod tree;
mod words;

use std::fmt;

use crate::Result;
use crate::job::Job;
use tree::Tree;

pub(crate) const ABOUT: &str = "\
Check the project rules that the compiler does not

Crate dependencies, the purity and the layers of `contract`, SQL that only SQLite has, sizes, forgotten files,
forbidden words, odd phrases, machine paths, the lockfile budget, the form of documents, the tests that
docs/conformance.md names. Every violation is listed with file and line.
--verbose also lists files that are close to their limit.";

pub(crate) fn run(args: &[String]) -> Result {
    let verbose = args.iter().any(|arg| arg == "--verbose");
    if let Some(word) = args.iter().find(|arg| *arg != "--verbose") {
        return Err(format!("unknown argument `{word}`"));
    }
    let tree = Tree::of_checkout()?;
    let metadata = Job::cargo(&["metadata", "--format-version", "1", "--no-deps", "--locked"]).output()?;
    let metadata =
        serde_json::from_str(&metadata).map_err(|error| format!("could not read cargo metadata: {error}"))?;
    let mut found = check_tree(&tree);
    found.extend(crates::check(&metadata, &tree));
    found.extend(purity::check(&purity::resolved()?));
    let found = exceptions::apply(found, exceptions::LISTED);

    if verbose {
        for note in sizes::notes(&tree) {
            println!("note: {note}");
        }
    }
    for violation in &found {
        println!("{violation}");
    }
    if found.is_empty() {
        println!("tidy: {} files, no violations", tree.files.len());
        return Ok(());
    }
    Err(format!("{} violations", found.len()))
}

/// The rules that need only the files.
fn check_tree(tree: &Tree) -> Vec<Violation> {
    let rules: &[fn(&Tree) -> Vec<Violation>] = &[
        sizes::files,
        sizes::functions,
        sizes::blobs,
        modules::check,
        layers::check,
        words::check,
        phrases::check,
        dialect::check,
        conformance::check,
        documents::decisions,
        documents::changelog,
        documents::lockfile,
        documents::leftovers,
    ];
    rules.iter().flat_map(|rule| rule(tree)).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    rule: &'static str,
    path: String,
    /// Counted from 1; 0 means the file as a whole.
    line: usize,
    message: String,
}

impl Violation {
    fn new(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Violation {
        Violation { rule, path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {} [{}]", self.message, self.rule)
    }
}

#[cfg(test)]
mod tests;
