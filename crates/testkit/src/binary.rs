//! Finds the programs that tests start.

use std::path::{Path, PathBuf};

/// The scripted agent. Its steps are listed in `fake-agent --help`.
pub fn fake_agent() -> PathBuf {
    beside_the_tests("fake-agent", "testkit")
}

/// The program of this name in the directory that the tests were built into. Panics with the command that builds it.
pub(crate) fn beside_the_tests(name: &str, package: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test knows its own file");
    // target/debug/deps/it-0123 is a test, target/debug/writ a program.
    let above = test.ancestors().skip(1).take(2);
    let program = above.map(|dir| dir.join(name)).find(|path| path.is_file());
    program.unwrap_or_else(|| missing(&test, name, package))
}

fn missing(test: &Path, name: &str, package: &str) -> ! {
    panic!(
        "`{name}` was not found near {}: run `cargo xtask test`, or `cargo build -p {package}` first",
        test.display()
    )
}
