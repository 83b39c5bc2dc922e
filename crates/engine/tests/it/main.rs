//! The supervisor and whole runs with real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ancestors;
mod death;
mod drive;
mod ending;
mod faults;
mod frame_corpus;
mod ignoring;
mod launching;
mod leftovers;
mod namespaces;
#[cfg(target_os = "linux")]
mod network;
mod output;
#[cfg(target_os = "linux")]
mod sandbox;
mod simulation;
#[cfg(target_os = "linux")]
mod templates;
mod worktrees;
mod world;

/// A module that is not named above would never run.
#[test]
fn no_test_file_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let named = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || named.contains(&format!("mod {module};")),
            "{name} is not part of the tests"
        );
    }
}
