//! The whole store in one piece: a copy while others use it, an export as lines of JSON, an import into an empty one.

pub mod backup;
pub mod export;
pub mod import;
pub mod upgrade;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Refuses the name of a file to write that contains a secret. `place` is where the caller wrote it.
pub fn refuse_secret_name(file: &Path, place: &str) -> Result<()> {
    Ok(store::refuse_secret_name(file, place)?)
}

/// What was exported or imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSummary {
    pub rows: u64,
    /// Rows by table.
    pub tables: BTreeMap<String, u64>,
    /// Of every line but the last.
    pub digest: String,
}

impl From<store::TransferSummary> for TransferSummary {
    fn from(moved: store::TransferSummary) -> Self {
        Self { rows: moved.rows, tables: moved.tables, digest: moved.digest }
    }
}
