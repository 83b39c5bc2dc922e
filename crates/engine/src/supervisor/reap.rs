//! Finds what dead owners left behind by the marks in its environment, and ends it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use contract::domain::limits::KILL_DEADLINE;
use rustix::process::{Pid, WaitOptions};

use super::killing::{Killing, Targets};
use super::mark::{Marker, OwnerIdentity, VARIABLE};
use super::process_table::{self, Process};

/// A process that carries a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    pub process: Process,
    pub marker: Marker,
}

/// What a reaping did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaped {
    pub ended: usize,
    /// Still there at the deadline: another user's, or stuck inside the kernel.
    pub survivors: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the owner with pid {} is alive, so what it started stays", owner.pid)]
pub struct OwnerLives {
    pub owner: OwnerIdentity,
}

/// Environments are read up to here. The kernel's own limit for one is lower by default.
const ENVIRONMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Between two looks at processes that were told to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Who this process is, for the marks of what it starts.
pub fn own_identity() -> OwnerIdentity {
    let pid = std::process::id();
    let start_time = process_table::read(pid).map_or(0, |process| process.start_time);
    OwnerIdentity { pid, start_time, boot_id: boot_id() }
}

/// Whether this very process still runs: same boot, same pid, same start, and not a zombie.
pub fn is_alive(owner: &OwnerIdentity) -> bool {
    owner.boot_id == boot_id()
        && process_table::read(owner.pid)
            .is_some_and(|process| process.start_time == owner.start_time && !process.is_zombie)
}

/// All marked processes that this user may look into and that `filter` wants.
pub fn find_marked(filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    marked_in(&process_table::snapshot(), filter)
}

/// Ends what is left of owners that died on this boot, as far as `is_ours` claims it.
/// What a living owner started is never touched.
pub fn reap_leftovers(is_ours: impl Fn(&Marker) -> bool) -> Reaped {
    let boot_id = boot_id();
    let is_leftover =
        |marker: &Marker| marker.owner.boot_id == boot_id && !is_alive(&marker.owner) && is_ours(marker);
    end(&mut Killing::default(), |table| {
        marked_in(table, is_leftover).into_iter().map(|marked| marked.process).collect()
    })
}

/// Ends everything one dead owner started.
pub fn end_all_of(owner: &OwnerIdentity) -> Result<Reaped, OwnerLives> {
    if is_alive(owner) {
        return Err(OwnerLives { owner: owner.clone() });
    }
    Ok(reap_leftovers(|marker| &marker.owner == owner))
}

/// Ends what a shim left behind when it was killed: all of its session, and all that carries the mark.
/// Orphans become children of this process if it is a subreaper, so the dead ones are reaped here.
pub(super) fn end_orphans(shim_pid: u32, marker: &Marker) -> Reaped {
    let of_session = |table: &[Process]| -> Vec<Process> {
        table
            .iter()
            .filter(|process| process.session == shim_pid && process.pid != shim_pid)
            .copied()
            .collect()
    };
    let mut killing = Killing::default();
    let reaped = end(&mut killing, |table| {
        let carriers = marked_in(table, |other| other == marker);
        of_session(table).into_iter().chain(carriers.into_iter().map(|carrier| carrier.process)).collect()
    });
    for &(pid, _) in killing.killed() {
        collect_zombie(pid);
    }
    reaped
}

/// Repeats until `roots` chooses nobody who is alive, or the deadline has come.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
fn end(killing: &mut Killing, roots: impl Fn(&[Process]) -> Vec<Process>) -> Reaped {
    let deadline = Instant::now() + KILL_DEADLINE;
    let find = || {
        let table = process_table::snapshot();
        let processes = with_subtrees(&table, roots(&table));
        // Other people may be in the groups of processes that are not our descendants.
        Targets { processes, groups: BTreeSet::new() }
    };
    loop {
        let alive = killing.round(find);
        if alive == 0 || Instant::now() >= deadline {
            return Reaped { ended: killing.killed().len().saturating_sub(alive), survivors: alive };
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// The chosen processes and what they started, even where the mark was lost on the way (`env -i`, `sudo`).
fn with_subtrees(table: &[Process], roots: Vec<Process>) -> Vec<Process> {
    // A living writ among them has shims of its own. They end their executors when it dies; killed with it, they could not.
    let living_owners: BTreeSet<u32> = marked_in(table, |marker| is_alive(&marker.owner))
        .iter()
        .map(|marked| marked.marker.owner.pid)
        .collect();
    let spared = line_of_ancestors(table, std::process::id());
    let mut chosen: Vec<Process> = Vec::new();
    for root in roots.into_iter().filter(|root| !spared.contains(&root.pid)) {
        if !living_owners.contains(&root.pid) {
            chosen.extend(process_table::descendants(table, root.pid, &living_owners));
        }
        chosen.push(root);
    }
    chosen.sort_unstable_by_key(Process::key);
    chosen.dedup();
    chosen
}

/// The process itself and everything above it: a writ that an executor started must not end itself.
fn line_of_ancestors(table: &[Process], pid: u32) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|&pid| line.insert(pid)) {
        next = table.iter().find(|process| process.pid == pid).map(|process| process.parent);
    }
    line
}

fn marked_in(table: &[Process], filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    let namespace = pid_namespace("self");
    table
        .iter()
        .filter(|process| !process.is_zombie)
        .filter_map(|&process| Some(MarkedProcess { process, marker: marker_of(process.pid)? }))
        .filter(|marked| filter(&marked.marker))
        // In another namespace the owner's pid means another process, which may well be alive.
        .filter(|marked| pid_namespace(&marked.process.pid.to_string()) == namespace)
        .collect()
}

/// The mark in a process's environment. Processes of other users cannot be read and count as unmarked.
fn marker_of(pid: u32) -> Option<Marker> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment).ok()?;
    let value = environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    Marker::parse(std::str::from_utf8(value).ok()?).ok()
}

fn pid_namespace(pid: &str) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text = text.trim();
    // Where boots have no name, one name stands for all: start times still tell processes apart.
    if text.is_empty() { "unnamed".to_owned() } else { text.to_owned() }
}

/// Takes a dead child off the kernel's table. Only called for processes that were killed here and nobody else waits for.
fn collect_zombie(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // Not our child, or not dead yet: then it is not ours to collect.
    rustix::process::waitpid(pid, WaitOptions::NOHANG).ok();
}

#[cfg(test)]
mod tests;
