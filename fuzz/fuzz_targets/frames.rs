#![no_main]

#[path = "../frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| frames::frames(bytes));
