//! The corpus of each fuzz target holds, and so do cut and changed versions of its entries.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the corpus is files, its time is measured, and a test that cannot go on has failed"
)]

#[path = "../../../../fuzz/bodies.rs"]
mod bodies;

use std::path::{Path, PathBuf};

fn replay(target: &str, body: fn(&[u8])) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        body(&bytes);
        for cut in [0, 1, bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            body(&bytes[..cut.min(bytes.len())]);
        }
        for at in (0..bytes.len()).step_by((bytes.len() / 16).max(1)) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x11;
            body(&changed);
        }
        seen += 1;
    }
    assert!(seen > 0, "{} is empty", folder.display());
}

macro_rules! targets {
    ($($target:ident)*) => { $( #[test] fn $target() { replay(stringify!($target), bodies::$target); } )* };
}

targets! { json intake aop aee aocl operator bridge frontmatter text convert push }

/// A name, the target, and how to make an input of about so many bytes.
type Hostile = (&'static str, fn(&[u8]), fn(usize) -> Vec<u8>);

/// A megabyte of what makes a parser look back: a quadratic one would not come to an end within any test's limit.
#[test]
fn hostile_megabytes_are_read_to_their_end() {
    let hostile: [Hostile; 9] = [
        ("nested lists", bodies::json, |n| "[".repeat(n).into_bytes()),
        ("many keys", bodies::json, |n| {
            let keys: Vec<String> = (0..n / 8).map(|i| format!("\"k{i}\":1")).collect();
            format!("{{{}}}", keys.join(",")).into_bytes()
        }),
        ("unknown fields", bodies::aop, |n| {
            let keys: Vec<String> = (0..n / 8).map(|i| format!("\"k{i}\":1")).collect();
            format!("{{\"aop_version\":\"2.0\",\"message_type\":\"TASK\",{}}}", keys.join(",")).into_bytes()
        }),
        ("dashes", bodies::frontmatter, |n| format!("---\n{}", "- ".repeat(n)).into_bytes()),
        ("brackets", bodies::frontmatter, |n| format!("---\na: {}\n---\n", "[".repeat(n)).into_bytes()),
        ("key text", bodies::text, |n| "sk-".repeat(n).into_bytes()),
        ("assignments", bodies::text, |n| "token=".repeat(n).into_bytes()),
        ("braces", bodies::text, |n| "{".repeat(n).into_bytes()),
        ("tags", bodies::bridge, |n| {
            let mut bytes = vec![9];
            bytes.extend("<promise>".repeat(n).bytes());
            bytes
        }),
    ];
    for (name, body, make) in hostile {
        let bytes = make(1_000_000);
        assert!(bytes.len() >= 1_000_000, "{name}: {} bytes", bytes.len());
        body(&bytes);
    }
}
