//! Ids that are the same in every run of a test.

use std::hash::{BuildHasher, Hasher, RandomState};

use contract::domain::id::Minter;

/// The splitmix64 generator: one addition and three mixing steps a number, good enough to never repeat in a test.
#[derive(Debug, Clone)]
pub struct SeededIds {
    state: u64,
}

impl SeededIds {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Uses a random seed, for tests that search for unknown cases. Prints the seed; `WRIT_SEED` sets it.
    #[expect(clippy::print_stdout, reason = "shown with a test that failed")]
    #[expect(clippy::disallowed_methods, reason = "tests have no command line of their own")]
    pub fn surprising() -> Self {
        let given = std::env::var("WRIT_SEED").ok();
        let given = given.map(|text| text.parse().expect("WRIT_SEED is a whole number"));
        let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        println!("WRIT_SEED={seed}");
        Self::new(seed)
    }

    /// What repeats the numbers that follow.
    pub fn seed(&self) -> u64 {
        self.state
    }

    /// The next 64 bits; tests use it for their own choices too.
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`. Panics if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "there is no number below zero");
        self.next_bits() % limit
    }
}

impl Minter for SeededIds {
    fn random_bits(&mut self) -> u128 {
        (u128::from(self.next_bits()) << 64) | u128::from(self.next_bits())
    }
}
