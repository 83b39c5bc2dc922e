//! Finds processes of writ that no journal names: they started something under their mark, and have the store's file open.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use contract::domain::process::{ProcessIdentity, StoreFile};

use super::mark::OwnerIdentity;
use super::marked::find_marked;
use super::reap::{is_alive, own_identity};
use super::remains::{machine, whereabouts};

/// The living processes, other than this one, that have children with their mark and this file open.
pub fn writers_of(file: &Path, store: Option<&StoreFile>) -> Vec<ProcessIdentity> {
    let Ok(wanted) = std::fs::metadata(file).map(|meta| (meta.dev(), meta.ino())) else { return Vec::new() };
    let own = own_identity();
    let is_other = |owner: &OwnerIdentity| owner.boot_id == own.boot_id && owner.pid != own.pid;
    let marked = find_marked(|marker| is_other(&marker.owner) && marker.owner.may_work_for(store));
    let owners: BTreeSet<OwnerIdentity> = marked.into_iter().map(|marked| marked.marker.owner).collect();
    let at_work = owners.into_iter().filter(|owner| is_alive(owner) && has_open(owner.pid, wanted));
    at_work
        .map(|OwnerIdentity { pid, start_time, store, .. }| ProcessIdentity {
            pid,
            start_time,
            boot_id: whereabouts(&own),
            within: Vec::new(),
            machine: machine(),
            store,
        })
        .collect()
}

/// Whether the process has the file with this device and number open. Unknown counts as no.
fn has_open(pid: u32, wanted: (u64, u64)) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten()
        .any(|entry| std::fs::metadata(entry.path()).is_ok_and(|meta| (meta.dev(), meta.ino()) == wanted))
}
