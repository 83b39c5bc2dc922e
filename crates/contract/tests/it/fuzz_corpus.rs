//! Replays the corpus of each fuzz target, with truncated and changed versions of its entries.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the test reads corpus files, measures time, and panics on errors"
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

/// A megabyte of text that makes a parser look back: a quadratic parser would exceed any test's time limit.
macro_rules! hostile {
    ($($name:ident: $target:ident($make:expr);)*) => { $(
        #[test]
        fn $name() {
            let make: fn(usize) -> Vec<u8> = $make;
            let bytes = make(1_000_000);
            assert!(bytes.len() >= 1_000_000, "{} bytes", bytes.len());
            bodies::$target(&bytes);
        }
    )* };
}

hostile! {
    a_megabyte_of_nested_lists_is_read_to_its_end: json(|n| "[".repeat(n).into_bytes());
    a_megabyte_of_keys_is_read_to_its_end: json(|n| keys("", n));
    a_megabyte_of_unknown_fields_is_read_to_its_end:
        aop(|n| keys("\"aop_version\":\"2.0\",\"message_type\":\"TASK\",", n));
    a_megabyte_of_dashes_is_read_to_its_end: frontmatter(|n| format!("---\n{}", "- ".repeat(n)).into_bytes());
    a_megabyte_of_brackets_is_read_to_its_end:
        frontmatter(|n| format!("---\na: {}\n---\n", "[".repeat(n)).into_bytes());
    a_megabyte_of_key_text_is_read_to_its_end: text(|n| "sk-".repeat(n / 2).into_bytes());
    a_megabyte_of_assignments_is_read_to_its_end: text(|n| "token=".repeat(n / 5).into_bytes());
    a_megabyte_of_braces_is_read_to_its_end: text(|n| "{".repeat(n).into_bytes());
    a_megabyte_of_glued_secrets_is_read_to_its_end:
        text(|n| "a://b:c4d@a://b:c4d@ and some words between them, so that ".repeat(n / 50).into_bytes());
    a_megabyte_of_tags_is_read_to_its_end:
        bridge(|n| format!("\u{9}{}", "<promise>".repeat(n / 8)).into_bytes());
}

/// An object of many fields behind `first`.
fn keys(first: &str, bytes: usize) -> Vec<u8> {
    let keys: Vec<String> = (0..bytes / 10).map(|i| format!("\"k{i}\":1")).collect();
    format!("{{{first}{}}}", keys.join(",")).into_bytes()
}
