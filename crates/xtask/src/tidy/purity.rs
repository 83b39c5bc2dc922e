//! Dependencies of the `contract` crate: none may do IO, read a clock or need a thread.

use super::Violation;
use crate::Result;
use crate::job::Job;

/// Everything `contract` may be linked with, and the allowed features where others would break the rule.
/// Before adding a line, look for files, clocks, threads and randomness in the crate and its dependencies.
const ALLOWED: &[(&str, Option<&[&str]>)] = &[
    ("aho-corasick", None),
    ("annotate-snippets", None), // formats messages of serde-saphyr
    ("anstyle", None),           // names of colors
    ("arraydeque", None),
    ("block-buffer", None),
    ("cfg-if", None),
    ("const-oid", None),
    ("core_detect", None), // detects processor features
    ("cpufeatures", None),
    ("crypto-common", Some(&[])), // its features bring randomness
    ("digest", Some(&["alloc", "block-api", "default", "oid"])),
    ("dyn-clone", None), // of schemars
    ("encoding_rs", None),
    ("encoding_rs_io", None), // reads from a reader that the caller opened; contract opens none
    ("granit-parser", None),  // the YAML scanner
    ("hybrid-array", None),
    ("itoa", None),
    ("jiff", Some(&["alloc"])), // `std` reads the clock and the system's time zones
    ("jiff-core", Some(&["alloc"])),
    ("libc", None), // only declarations; cpufeatures asks for it on some targets
    ("memchr", None),
    ("ref-cast", None), // of schemars
    ("num-traits", None),
    ("regex", None),
    ("regex-automata", None),
    ("regex-syntax", None),
    ("ryu-js", None),
    ("schemars", None), // schemas of verbs are derived from their types
    ("scopeguard", None),
    ("serde", None),
    ("serde-saphyr", Some(&["deserialize"])), // `include_fs` opens files
    ("serde_core", None),
    ("serde_json", None),
    ("serde_json_canonicalizer", None),
    ("serde_spanned", None),
    ("sha2", None),
    ("shlex", None),
    ("simdutf8", None),
    ("smallvec", None),
    ("strsim", None),
    ("thiserror", None),
    ("tinyvec", None),
    ("toml", None),
    ("toml_datetime", None),
    ("toml_parser", None),
    ("toml_writer", None),
    ("typenum", None),
    ("unicode-normalization", None),
    ("unicode-width", None),
    ("winnow", None),
    ("zmij", None),
];

const MANIFEST: &str = "crates/contract/Cargo.toml";

/// One line per package, `name v1.2.3|feature,feature`, resolved for `contract` alone: `cargo metadata` would mix in the
/// features that other crates and tests enable.
pub(super) fn resolved() -> Result<String> {
    let edges = ["-p", "contract", "-e", "normal,no-proc-macro"];
    let form = ["--prefix", "none", "--no-dedupe", "--format", "{p}|{f}", "--locked"];
    Job::cargo(&["tree"]).args(&edges).args(&form).output()
}

pub(super) fn check(resolved: &str) -> Vec<Violation> {
    let mut packages: Vec<(&str, &str)> = resolved.lines().filter_map(package).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut found = Vec::new();
    for (name, features) in packages {
        let Some((_, allowed)) = ALLOWED.iter().find(|(allowed, _)| *allowed == name) else {
            let message = format!("`{name}` is not on the list of crates that keep `contract` pure");
            found.push(Violation::new("purity", MANIFEST, 0, message));
            continue;
        };
        let Some(allowed) = allowed else { continue };
        for feature in features.split(',').filter(|feature| !feature.is_empty() && !allowed.contains(feature))
        {
            let message = format!("feature `{feature}` of `{name}` could bring IO, a clock or randomness");
            found.push(Violation::new("purity", MANIFEST, 0, message));
        }
    }
    found
}

/// Name and features of a line; none for our own crate.
fn package(line: &str) -> Option<(&str, &str)> {
    let (package, features) = line.split_once('|')?;
    let name = package.split_whitespace().next()?;
    (name != "contract").then_some((name, features.trim()))
}
