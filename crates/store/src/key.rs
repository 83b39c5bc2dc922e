//! The store's key: 32 random bytes in a file beside the store. It seals what the log cannot prove and makes tokens.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use rustix::fs::OFlags;
use sha2::Sha256;

use crate::error::{Error, Result};
use crate::whole_file::{beside, directory, private, random};

const KEY_BYTES: usize = 32;
/// Bits of the mode that let others than the owner use the file.
const OTHERS: u32 = 0o077;

/// The key of one store. It is never printed and never stored in the database.
#[derive(Clone)]
pub struct StoreKey {
    keyed: Hmac<Sha256>,
    /// For a copy of the store, when the file of the key has gone with it.
    bytes: [u8; KEY_BYTES],
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(…)")
    }
}

impl StoreKey {
    /// Where the key of the store at `path` is. A link to a store has the key of the store it leads to.
    pub fn path_of(store: &Path) -> PathBuf {
        let is_link = fs::symlink_metadata(store).is_ok_and(|found| found.is_symlink());
        let real = if is_link { fs::canonicalize(store).ok() } else { None };
        beside(real.as_deref().unwrap_or(store), ".key")
    }

    /// The key of the store; `None` if there is none. A key that others could have read or replaced is refused.
    pub fn load(store: &Path) -> Result<Option<Self>> {
        Ok(Self::bytes_of(store)?.as_ref().map(Self::from_bytes))
    }

    /// The bytes of the key, for a backup.
    pub(crate) fn bytes_of(store: &Path) -> Result<Option<[u8; KEY_BYTES]>> {
        let path = Self::path_of(store);
        let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).expect("BUG: a flag of open(2)");
        let mut file = match fs::OpenOptions::new().read(true).custom_flags(no_follow).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) => {
                return Err(refused(&path, "is a symbolic link"));
            }
            Err(source) => return Err(Error::Input { path, source }),
        };
        let unreadable = |source| Error::Input { path: path.clone(), source };
        let found = file.metadata().map_err(unreadable)?;
        if let Some(problem) = problem(&found, store) {
            return Err(refused(&path, &problem));
        }
        let mut bytes = [0; KEY_BYTES];
        file.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(Some(bytes))
    }

    /// The key of the store, made now if there is none. Of two processes that make one, both get the same.
    pub(crate) fn load_or_make(store: &Path) -> Result<Self> {
        if let Some(key) = Self::load(store)? {
            return Ok(key);
        }
        let path = Self::path_of(store);
        make(&path).map_err(|source| Error::Output { path: path.clone(), source })?;
        Self::load(store)?.ok_or(Error::NoKey { path })
    }

    pub(crate) fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        let keyed = Hmac::new_from_slice(bytes).expect("BUG: HMAC takes keys of any length");
        Self { keyed, bytes: *bytes }
    }

    /// Writes the key beside a copy of the store, for its user alone. An existing file stays as it is.
    pub(crate) fn save_for(&self, copy: &Path) -> Result<()> {
        let path = beside(copy, ".key");
        let written = private().create_new(true).open(&path).and_then(|mut file| {
            file.write_all(&self.bytes)?;
            file.sync_all()
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            written => written.map_err(|source| Error::Output { path, source }),
        }
    }

    /// The MAC of these parts as 64 hexadecimal digits. `purpose` keeps MACs of different uses apart; the parts are
    /// separated, so that `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> String {
        hex(&self.mac_bytes(purpose, parts))
    }

    /// Whether `mac` is the MAC of these parts. Takes the same time wherever it differs.
    pub fn is_mac(&self, mac: &str, purpose: &str, parts: &[&[u8]]) -> bool {
        unhex(mac).is_some_and(|mac| self.fed(purpose, parts).verify_slice(&mac).is_ok())
    }

    pub(crate) fn mac_bytes(&self, purpose: &str, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        self.fed(purpose, parts).finalize().into_bytes().into()
    }

    fn fed(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        for part in [purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

/// Why a file cannot be the key: others could read or replace it, or it is not one.
fn problem(found: &fs::Metadata, store: &Path) -> Option<String> {
    // Root may use another user's store, whose key belongs to that user as well.
    let owner_of_store = fs::metadata(store).map(|store| store.uid()).ok();
    if !found.is_file() {
        Some("is not a regular file".to_owned())
    } else if found.uid() != rustix::process::geteuid().as_raw() && Some(found.uid()) != owner_of_store {
        Some(format!("belongs to user {}", found.uid()))
    } else if found.mode() & OTHERS != 0 {
        Some(format!("has mode {:04o}: others can use it", found.mode() & 0o7777))
    } else if found.len() != KEY_BYTES as u64 {
        Some(format!("has {} bytes instead of {KEY_BYTES}", found.len()))
    } else {
        None
    }
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::Key { path: path.to_owned(), problem: problem.to_owned() }
}

/// Makes the file complete under another name, then links it: nobody ever sees half a key, and an existing one stays.
fn make(path: &Path) -> io::Result<()> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    // Two threads of one process may make a key as well.
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let part = beside(path, &format!(".part-{}-{number}", std::process::id()));
    let bytes: [u8; KEY_BYTES] = random()?;
    // A part that a killed process left behind is not ours.
    fs::remove_file(&part).ok();
    let made = private().create_new(true).open(&part).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::hard_link(&part, path)
    });
    fs::remove_file(&part).ok();
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::File::open(directory(path))?.sync_all()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// `None` for what [`hex`] cannot have written.
pub(crate) fn unhex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut bytes = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |nibble: u8| match nibble {
            b'0'..=b'9' => Some(nibble - b'0'),
            b'a'..=b'f' => Some(nibble - b'a' + 10),
            _ => None,
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
