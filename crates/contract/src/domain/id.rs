//! Typed ids: a prefix that names the kind, then an opaque part. Kinds cannot be mixed.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The registry of kinds. Append only: a prefix that was ever printed keeps its meaning.
pub trait Kind {
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $prefix:literal;)*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name {}
            impl Kind for $name {
                const PREFIX: &'static str = $prefix;
            }
        )*
    };
}

kinds! {
    /// One unit of work.
    Task = "task";
    /// One submitted document and its execution. Minted as a UUID v4.
    Run = "run";
    /// One execution of a task by a child process.
    Attempt = "attempt";
    /// One row of the event log, as an AEE envelope.
    Event = "evt";
    /// The correlation id of all envelopes of one work item.
    Corr = "corr";
    /// A caller's key for one logical write, when the caller gave none.
    Request = "req";
    /// A file that belongs to a task.
    Artifact = "artifact";
    /// One working engine.
    Owner = "own";
    /// A person's approval of one exact action.
    Approval = "approval";
    /// A token that a person created for a program.
    AccessToken = "token";
    /// One store. A copy of its file keeps it; an import and a salvage make another.
    DataStore = "store";
}

/// An id of one kind, such as `task_01j…`.
pub struct Id<K> {
    text: String,
    kind: PhantomData<fn() -> K>,
}

/// How many characters may follow the prefix. Ours have 26; imported ones may be longer.
const OPAQUE_CHARS_MAX: usize = 64;
const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_CHARS: usize = 26;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {kind} id: expected `{kind}_` and up to 64 of a-z, 0-9 and _")]
pub struct InvalidId {
    pub kind: &'static str,
}

impl<K: Kind> Id<K> {
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let opaque = text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_'));
        let fits = opaque.is_some_and(|opaque| {
            (1..=OPAQUE_CHARS_MAX).contains(&opaque.len())
                && opaque.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase() || b == b'_')
        });
        if fits { Ok(Self::trusted(text.to_owned())) } else { Err(InvalidId { kind: K::PREFIX }) }
    }

    /// The id with these 128 bits.
    pub fn from_bits(bits: u128) -> Self {
        let mut text = String::with_capacity(K::PREFIX.len() + 1 + ENCODED_CHARS);
        text.push_str(K::PREFIX);
        text.push('_');
        for place in (0..ENCODED_CHARS).rev() {
            let five = (bits >> (place * 5)) & 31;
            text.push(char::from(CROCKFORD[usize::try_from(five).expect("BUG: five bits fit")]));
        }
        Self::trusted(text)
    }

    /// The 128 bits of an id that was minted here; `None` for imported ids.
    pub fn bits(&self) -> Option<u128> {
        let opaque = &self.text[K::PREFIX.len() + 1..];
        if opaque.len() != ENCODED_CHARS || opaque.as_bytes()[0] > b'7' {
            return None;
        }
        let mut bits = 0u128;
        for byte in opaque.bytes() {
            let five = CROCKFORD.iter().position(|&c| c == byte)?;
            bits = (bits << 5) | u128::try_from(five).expect("BUG: five bits fit");
        }
        Some(bits)
    }

    /// The same bits as a plain UUID, the form in operator documents.
    pub fn uuid(&self) -> Option<String> {
        let hex = format!("{:032x}", self.bits()?);
        Some(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
    }

    /// The id for a plain UUID of an operator document, in upper or lower case.
    pub fn from_uuid(text: &str) -> Option<Self> {
        let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
        let fits =
            |(at, byte): (usize, u8)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
        if text.len() != 36 || !text.bytes().enumerate().all(fits) {
            return None;
        }
        u128::from_str_radix(&text.replace('-', ""), 16).ok().map(Self::from_bits)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn trusted(text: String) -> Self {
        Self { text, kind: PhantomData }
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        Self { text: self.text.clone(), kind: PhantomData }
    }
}
impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}
impl<K> std::hash::Hash for Id<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
impl<K: Kind> FromStr for Id<K> {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::parse(text)
    }
}
impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The source of new ids: the machine's randomness in the product, a seed in tests.
pub trait Minter {
    /// 128 fresh random bits.
    fn random_bits(&mut self) -> u128;
}

/// A new id that sorts by time (UUID v7 layout).
pub fn mint<K: Kind>(ids: &mut dyn Minter, now: super::time::Timestamp) -> Id<K> {
    Id::from_bits(v7_bits(now, ids.random_bits()))
}

/// A new run id (UUID v4 layout), because operator documents ask for version 4.
pub fn mint_run(ids: &mut dyn Minter) -> Id<Run> {
    Id::from_bits(v4_bits(ids.random_bits()))
}

const VERSION_MASK: u128 = 0xF << 76;
const VARIANT_MASK: u128 = 0x3 << 62;

fn v7_bits(now: super::time::Timestamp, random: u128) -> u128 {
    let millis = u128::try_from(now.millis().max(0)).expect("BUG: clamped to zero");
    let low = random & ((1 << 80) - 1);
    (millis << 80) | (low & !VERSION_MASK & !VARIANT_MASK) | (0x7 << 76) | (0x2 << 62)
}

fn v4_bits(random: u128) -> u128 {
    (random & !VERSION_MASK & !VARIANT_MASK) | (0x4 << 76) | (0x2 << 62)
}

#[cfg(test)]
mod tests;
