//! Gets what is whole out of a damaged store. Not a verb: the store may be too damaged to be opened.

use std::path::Path;

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::time::Clock;
pub use store::Salvaged;

use crate::error::{Error, Result};

/// Makes a new store at `into` from what is whole in the store at `from`, which is only read.
pub fn salvage(from: &Path, into: &Path, clock: &dyn Clock, ids: &mut dyn Minter) -> Result<Salvaged> {
    store::salvage(from, into, ids, clock.now().at).map_err(|error| {
        let error = Error::from(error);
        // The store's hint names a flag, which salvaging does not have: it never replaces anything.
        if error.code == ErrorCode::AlreadyExists {
            error.hint("choose another name with --into")
        } else {
            error
        }
    })
}
