//! The hash chain of a stream: each link binds its record to everything before it.

use serde::Serialize;

use crate::digest;
use crate::json::canonical::NotCanonical;

/// The hash before the first record of every stream.
pub const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Serialize)]
struct ChainLink<'a, R> {
    previous: &'a str,
    record: &'a R,
    seq: i64,
    stream: &'a str,
}

/// The hash of record `seq` of `stream`, which follows `previous`.
pub fn link<R: Serialize>(
    stream: &str,
    seq: i64,
    previous: &str,
    record: &R,
) -> Result<String, NotCanonical> {
    digest::of_value(&ChainLink { previous, record, seq, stream })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_link_changes_its_hash() {
        let base = link("s", 1, GENESIS, &"r").unwrap();
        let others = [
            link("t", 1, GENESIS, &"r").unwrap(),
            link("s", 2, GENESIS, &"r").unwrap(),
            link("s", 1, &base, &"r").unwrap(),
            link("s", 1, GENESIS, &"x").unwrap(),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
