//! The number of rounds of a repeating test, and its report.

use std::ffi::OsStr;

/// The number of rounds: `WRIT_ROUNDS`, or `usual`. `cargo xtask soak` sets it for each storm.
#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
pub fn rounds(usual: u32) -> u32 {
    number(usual, std::env::var_os("WRIT_ROUNDS").as_deref())
}

/// What a storm did, for the table of `cargo xtask soak`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Storm {
    pub rounds: u64,
    /// Commands, commits or faults that were tried, whichever the storm counts.
    pub operations: u64,
    pub kills: u64,
    /// What repeats it, where it is random.
    pub seed: Option<u64>,
}

impl Storm {
    /// Prints the line that `cargo xtask soak` reads.
    #[expect(clippy::print_stdout, reason = "the runner of the storms reads what a test prints")]
    pub fn report(&self) {
        println!("{}", self.line());
    }

    /// Says that this machine cannot run a storm.
    #[expect(clippy::print_stdout, reason = "the runner of the storms reads what a test prints")]
    pub fn skip(why: &str) {
        println!("storm: skipped: {why}");
    }

    fn line(&self) -> String {
        let Self { rounds, operations, kills, seed } = self;
        let seed = seed.map(|seed| format!(" seed={seed}")).unwrap_or_default();
        format!("storm: rounds={rounds} operations={operations} kills={kills}{seed}")
    }
}

fn number(usual: u32, asked: Option<&OsStr>) -> u32 {
    let Some(text) = asked else { return usual };
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.expect("WRIT_ROUNDS is a whole number from 1")
}

#[cfg(test)]
mod tests;
