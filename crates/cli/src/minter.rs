//! The machine's randomness, for ids.

use contract::domain::id::Minter;

pub(crate) struct RandomIds;

impl Minter for RandomIds {
    fn random_bits(&mut self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system must have randomness; without it ids could repeat");
        u128::from_ne_bytes(bytes)
    }
}
