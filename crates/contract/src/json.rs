//! JSON: parsed strictly, canonical where it is hashed.

pub mod canonical;
pub mod strict;

pub use serde_json::{Map, Value, json};

use crate::domain::limits;

/// The size of a document, for a message. Readers stop just beyond the limit, so a larger size is unknown.
pub(crate) fn size(bytes: &[u8]) -> String {
    let most = limits::WORKLOG_BYTES_MAX;
    if bytes.len() > most { format!("more than {most} bytes") } else { format!("{} bytes", bytes.len()) }
}
