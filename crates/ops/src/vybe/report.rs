//! What was imported, and what could not be.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Remarks that are listed; the rest is counted.
const REMARKS_MAX: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VybeImportReport {
    pub things: BTreeMap<String, ImportedRows>,
    /// What was changed on the way or left behind, and why.
    pub remarks: Vec<String>,
    pub remarks_more: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRows {
    pub found: u64,
    pub carried: u64,
}

impl VybeImportReport {
    pub(super) fn found(&mut self, thing: &str) {
        self.things.entry(thing.to_owned()).or_default().found += 1;
    }

    pub(super) fn carried(&mut self, thing: &str) {
        self.things.entry(thing.to_owned()).or_default().carried += 1;
    }

    /// Things of which none is carried.
    pub(super) fn left(&mut self, thing: &str, found: u64, why: &str) {
        if found > 0 {
            self.things.insert(thing.to_owned(), ImportedRows { found, carried: 0 });
            self.remark(format!("{found} {thing} stay behind: {why}"));
        }
    }

    pub(super) fn remark(&mut self, remark: String) {
        if self.remarks.len() < REMARKS_MAX {
            self.remarks.push(remark);
        } else {
            self.remarks_more += 1;
        }
    }
}
