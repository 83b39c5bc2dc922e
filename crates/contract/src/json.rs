//! JSON the way this project takes it: strict on the way in, canonical where it is hashed.

pub mod canonical;
pub mod strict;

pub use serde_json::{Map, Value, json};

use crate::domain::limits;

/// How much a document has, for whoever refuses it. Readers stop behind the longest there may be, so beyond that
/// nobody knows.
pub(crate) fn size(bytes: &[u8]) -> String {
    let most = limits::WORKLOG_BYTES_MAX;
    if bytes.len() > most { format!("more than {most} bytes") } else { format!("{} bytes", bytes.len()) }
}
