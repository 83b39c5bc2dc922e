//! The mark in every executor's environment: its attempt and its owner.

use std::fmt;

use contract::domain::id::{Attempt, DataStore, Id};
use contract::domain::process::StoreFile;
use serde::{Deserialize, Serialize};

/// The environment variable that holds the mark. It is inherited by everything an executor starts.
pub const VARIABLE: &str = "WRIT_MARK";

/// The same for a shim. Its executor has the other one: the two are ended in different ways.
pub const SHIM_VARIABLE: &str = "WRIT_SHIM";

/// Of the attempt in the mark of a template of shims.
const NOBODYS_BITS: u128 = u128::MAX;

/// The attempt in the mark of a template of shims, which has none.
pub(super) fn nobodys_attempt() -> Id<Attempt> {
    Id::from_bits(NOBODYS_BITS)
}

/// One process on one boot. A pid alone can come again; with its start time it cannot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerIdentity {
    pub pid: u32,
    /// In clock ticks since boot.
    pub start_time: u64,
    pub boot_id: String,
    /// The store that it works for. Marks of earlier versions, and of commands without a store, have none.
    pub store: Option<StoreFile>,
}

impl OwnerIdentity {
    /// A process, whatever store it works for.
    pub fn process(pid: u32, start_time: u64, boot_id: String) -> Self {
        Self { pid, start_time, boot_id, store: None }
    }

    /// Whether both are the same process.
    pub fn is(&self, other: &OwnerIdentity) -> bool {
        self.pid == other.pid && self.start_time == other.start_time && self.boot_id == other.boot_id
    }

    /// Whether it works for this store, by its mark.
    pub fn may_work_for(&self, store: Option<&StoreFile>) -> bool {
        self.store.is_none() || store.is_none() || self.store.as_ref() == store
    }
}

/// Printed as `<attempt id>:<owner pid>:<owner start time>:<boot id>`, and `:<store id>:<device>:<inode>` if the owner works
/// for a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    pub attempt: Id<Attempt>,
    pub owner: OwnerIdentity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a mark: expected `<attempt id>:<pid>:<start time>:<boot id>`")]
pub struct InvalidMarker;

/// Ours is a UUID of 36 characters; other systems may name a boot differently.
const BOOT_ID_CHARS_MAX: usize = 64;

impl Marker {
    pub fn parse(text: &str) -> Result<Self, InvalidMarker> {
        let mut parts = text.split(':');
        let mut part = || parts.next().ok_or(InvalidMarker);
        let attempt = Id::parse(part()?).map_err(|_| InvalidMarker)?;
        let pid = part()?.parse().map_err(|_| InvalidMarker)?;
        let start_time = part()?.parse().map_err(|_| InvalidMarker)?;
        let boot_id = part()?;
        let is_boot_id = (1..=BOOT_ID_CHARS_MAX).contains(&boot_id.len())
            && boot_id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let boot_id = boot_id.to_owned();
        let store = parts.next().map(|id| store_file(id, &mut parts).ok_or(InvalidMarker)).transpose()?;
        if !is_boot_id || parts.next().is_some() {
            return Err(InvalidMarker);
        }
        Ok(Self { attempt, owner: OwnerIdentity { pid, start_time, boot_id, store } })
    }
}

fn store_file<'m>(id: &str, parts: &mut impl Iterator<Item = &'m str>) -> Option<StoreFile> {
    let id = Id::<DataStore>::parse(id).ok()?.to_string();
    Some(StoreFile { id, device: parts.next()?.parse().ok()?, inode: parts.next()?.parse().ok()? })
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnerIdentity { pid, start_time, boot_id, store } = &self.owner;
        write!(f, "{}:{pid}:{start_time}:{boot_id}", self.attempt)?;
        match store {
            Some(StoreFile { id, device, inode }) => write!(f, ":{id}:{device}:{inode}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
