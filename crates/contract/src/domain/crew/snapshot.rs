//! What the files of a scope were, by digest, and what became of them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files by their normalized path. What was too much to be read is said to be so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub files: BTreeMap<String, String>,
    /// The scope holds more than is read, so this proves nothing.
    pub is_partial: bool,
}

/// What two snapshots and a claim say together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// Files that differ, reported or not.
    pub seen: Vec<String>,
    /// Files that differ and were not reported.
    pub undeclared: Vec<String>,
    /// Claims of a change that cannot be seen.
    pub unseen: Vec<String>,
    pub is_partial: bool,
}

/// Compares what was with what is and with what is claimed. Paths are normalized; a claim may name a directory.
pub fn compare(before: &Snapshot, after: &Snapshot, claimed: &BTreeSet<String>) -> Changes {
    let names: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let seen: BTreeSet<&String> =
        names.into_iter().filter(|name| before.files.get(*name) != after.files.get(*name)).collect();
    let covers = |claim: &str, file: &str| {
        file.strip_prefix(claim).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let undeclared = seen.iter().filter(|file| !claimed.iter().any(|claim| covers(claim, file)));
    let unseen = claimed.iter().filter(|claim| !seen.iter().any(|file| covers(claim, file)));
    Changes {
        undeclared: undeclared.map(|file| (*file).clone()).collect(),
        unseen: unseen.cloned().collect(),
        is_partial: before.is_partial || after.is_partial,
        seen: seen.into_iter().cloned().collect(),
    }
}
