//! Tests of the crate from outside.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads its corpus, and fails if it cannot"
)]

mod fuzz_corpus;
