//! SHA-256 digests, printed `sha256:<64 hex>`.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::json::canonical::{NotCanonical, canonical};

/// The digest of some bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    render(&Sha256::digest(bytes))
}

/// The same as bytes, for many digests that are kept in memory.
pub fn raw_of_bytes(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// How a raw digest is printed.
pub fn printed(raw: &[u8; 32]) -> String {
    render(raw)
}

/// The digest of a value's canonical JSON.
pub fn of_value<T: Serialize>(value: &T) -> Result<String, NotCanonical> {
    Ok(of_bytes(&canonical(value)?))
}

/// A UUID in the form of version 4 that is always the same for the same text.
pub fn uuid_for(text: &str) -> String {
    let hex: Vec<char> = of_bytes(text.as_bytes()).chars().rev().take(32).collect();
    let part = |from: usize, to: usize| hex[from..to].iter().collect::<String>();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// An incremental digest.
#[derive(Default)]
pub struct Running(Sha256);

impl Running {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish_raw(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    pub fn finish(self) -> String {
        render(&self.0.finalize())
    }
}

fn render(hash: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(7 + hash.len() * 2);
    text.push_str("sha256:");
    for byte in hash {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::of_bytes(b""), empty);
        assert_eq!(super::Running::default().finish(), empty);
    }
}
