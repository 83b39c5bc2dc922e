//! The identity of a store: its id, and the file that has it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use contract::domain::id::{DataStore, Id, Minter, mint};
use contract::domain::process::StoreFile;
use contract::domain::time::Timestamp;

use crate::error::{Error, Result, unreadable};
use crate::whole_file::random;
use crate::{Store, Tx};

impl Store {
    /// The id, and the file under the store's name. A copy of the file has the same id and another inode.
    pub fn file(&mut self) -> Result<StoreFile> {
        let id = self.read()?.store_id()?.to_string();
        let found = fs::metadata(&self.path);
        let found = found.map_err(|source| Error::Input { path: self.path.clone(), source })?;
        Ok(StoreFile { id, device: found.dev(), inode: found.ino() })
    }
}

impl Tx<'_> {
    fn store_id(&self) -> Result<Id<DataStore>> {
        let mut statement = self.prepare("SELECT store_id FROM store WHERE id = 1")?;
        let id: String = statement.query_row([], |row| row.get(0))?;
        Id::parse(&id).map_err(|_| unreadable("id", "the store", &id))
    }

    /// Writes the id of a store that has none.
    pub(super) fn give_id(&self, now: Timestamp) -> Result<()> {
        let bits = random().map_err(|source| Error::Input { path: "/dev/urandom".into(), source })?;
        let id: Id<DataStore> = mint(&mut Drawn(u128::from_ne_bytes(bits)), now);
        self.change_one("INSERT INTO store (id, store_id) VALUES (1, ?1)", [id.as_str()])
    }
}

/// Bits that were drawn for one id.
struct Drawn(u128);

impl Minter for Drawn {
    fn random_bits(&mut self) -> u128 {
        self.0
    }
}
