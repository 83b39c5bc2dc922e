//! Tests of the crate from outside.

mod fuzz_corpus;
