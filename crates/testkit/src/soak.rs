//! How many rounds a repeating test runs.

use std::ffi::OsStr;

/// The number of rounds: `usual`, or `WRIT_SOAK` times as many under `cargo xtask soak`.
#[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
pub fn rounds(usual: u32) -> u32 {
    usual.saturating_mul(factor(std::env::var_os("WRIT_SOAK").as_deref()))
}

fn factor(asked: Option<&OsStr>) -> u32 {
    let Some(text) = asked else { return 1 };
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.expect("WRIT_SOAK is a whole number from 1")
}

#[cfg(test)]
mod tests;
