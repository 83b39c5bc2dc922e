//! The digests of the files in a scope, and how they changed.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::outside::Outside;

/// Files by their normalized path. A snapshot that is incomplete says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub files: BTreeMap<String, String>,
    /// The scope has more than the limit, so this proves nothing.
    pub is_partial: bool,
    /// When the files were looked at, no lock around the workspace had a lower token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_grant: Option<i64>,
}

/// The comparison of two snapshots and a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotChanges {
    /// Files that differ, reported or not.
    pub seen: Vec<String>,
    /// Files that differ and were not reported.
    pub undeclared: Vec<String>,
    /// Claimed changes that the snapshots do not show.
    pub unseen: Vec<String>,
    pub is_partial: bool,
    /// What changed outside the scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

/// Compares the files before and after with the claimed changes. Paths are normalized; a claim may name a directory.
pub fn compare(before: &Snapshot, after: &Snapshot, claimed: &BTreeSet<String>) -> SnapshotChanges {
    let names: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let seen: BTreeSet<&String> =
        names.into_iter().filter(|name| before.files.get(*name) != after.files.get(*name)).collect();
    let covers = |claim: &str, file: &str| {
        file.strip_prefix(claim).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let undeclared = seen.iter().filter(|file| !claimed.iter().any(|claim| covers(claim, file)));
    let unseen = claimed.iter().filter(|claim| !seen.iter().any(|file| covers(claim, file)));
    SnapshotChanges {
        undeclared: undeclared.map(|file| (*file).clone()).collect(),
        unseen: unseen.cloned().collect(),
        is_partial: before.is_partial || after.is_partial,
        outside: None,
        seen: seen.into_iter().cloned().collect(),
    }
}
