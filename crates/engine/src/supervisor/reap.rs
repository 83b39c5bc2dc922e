//! Ends what dead owners left behind, and never what a living one started.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::domain::limits::KILL_DEADLINE;
use rustix::process::{Pid, Signal, WaitOptions};

use super::killing::{KillTargets, Killing};
use super::mark::{Marker, OwnerIdentity};
use super::marked::{self, MarkedProcess, ProcessRole, marked_in};
use super::process_table::{self, Process};

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

/// Between two looks at processes that are about to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// What a shim may need besides the time it has for its descendants.
const SHIM_SLACK: Duration = Duration::from_secs(2);
/// Stands for the boot where boots have no names, and never in a mark that could be acted on.
const UNNAMED_BOOT: &str = "unnamed";

/// Who this process is, for the marks of what it starts.
pub fn own_identity() -> OwnerIdentity {
    /// It stays the same, and every child's mark has it. A copy of this process is another one.
    static OWN: Mutex<Option<OwnerIdentity>> = Mutex::new(None);
    let pid = std::process::id();
    let mut known = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(own) = known.as_ref().filter(|own| own.pid == pid) {
        return own.clone();
    }
    match process_table::read(pid) {
        Some(process) => {
            let own = OwnerIdentity::process(pid, process.start_time, boot_id());
            known.insert(own).clone()
        }
        // Half an identity would look like that of a dead process.
        None => OwnerIdentity::process(pid, 0, UNNAMED_BOOT.to_owned()),
    }
}

/// Whether this very process still runs: same boot, same pid, same start, and not a zombie.
/// If that cannot be found out, it counts as alive.
pub fn is_alive(owner: &OwnerIdentity) -> bool {
    if owner.boot_id != boot_id() {
        return false;
    }
    if cfg!(not(target_os = "linux")) {
        return pid_of(owner.pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    match process_table::look(owner.pid) {
        Ok(Some(process)) => process.start_time == owner.start_time && !process.is_zombie,
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Ends what is left of owners that died on this boot, as far as `is_ours` claims it.
/// What a living owner started is never touched. When it returns, the dead owners' shims are gone too.
pub fn reap_leftovers(is_ours: impl Fn(&Marker) -> bool) -> Reaped {
    let boot_id = boot_id();
    let is_leftover = |marker: &Marker| {
        marker.owner.boot_id == boot_id
            && boot_id != UNNAMED_BOOT
            && !is_alive(&marker.owner)
            && is_ours(marker)
    };
    wait_for_shims(is_leftover);
    end(&mut Killing::default(), |table| processes_of(marked_in(table, is_leftover)))
}

/// Ends everything one dead owner started.
pub fn end_all_of(owner: &OwnerIdentity) -> Result<Reaped, OwnerLives> {
    if is_alive(owner) {
        return Err(OwnerLives { owner: owner.clone() });
    }
    Ok(reap_leftovers(|marker| marker.owner.is(owner)))
}

/// Ends what a shim left behind when it was killed: all of its session, all that carries the mark, and the
/// orphans without one that came to this process, if it is a subreaper. The dead ones are collected here.
pub(super) fn end_orphans(shim_pid: u32, marker: &Marker) -> Reaped {
    // The shim is dead but not collected, so it can still be looked at.
    let since = process_table::read(shim_pid).map_or(u64::MAX, |shim| shim.start_time);
    let mut killing = Killing::default();
    let reaped = end(&mut killing, |table| {
        collect_orphans(table, shim_pid);
        let in_session = table.iter().filter(|process| process.session == shim_pid).copied();
        let carriers = processes_of(marked_in(table, |other| other == marker));
        let roots = in_session.chain(carriers).chain(nameless_orphans(table, since));
        roots.filter(|process| process.pid != shim_pid).collect()
    });
    for &(pid, _) in killing.hit() {
        collect_zombie(pid);
    }
    reaped
}

/// Collects what died of the shim's own children. A namespace's first process only ends when the executor, which came
/// to this process as an orphan, has been collected.
fn collect_orphans(table: &[Process], shim_pid: u32) {
    let own = std::process::id();
    let is_dead_child = |process: &&Process| process.is_zombie && process.parent == own;
    let of_shim = |process: &&Process| process.session == shim_pid && process.pid != shim_pid;
    table.iter().filter(is_dead_child).filter(of_shim).for_each(|process| collect_zombie(process.pid));
}

/// Children of this process that it did not start: in a session of their own, which only shims have otherwise,
/// and those are marked.
fn nameless_orphans(table: &[Process], since: u64) -> Vec<Process> {
    let own = table.iter().find(|process| process.pid == std::process::id());
    // To process 1 come orphans of all kinds.
    let Some(own) = own.filter(|own| own.pid != 1) else { return Vec::new() };
    let is_stranger = |process: &&Process| {
        process.parent == own.pid && process.session != own.session && process.start_time >= since
    };
    table.iter().filter(is_stranger).filter(|process| marked::is_unmarked(process)).copied().collect()
}

/// Shims of dead owners end by themselves, and they know their descendants better than any mark does.
/// A stopped one is continued for it.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
fn wait_for_shims(is_leftover: impl Fn(&Marker) -> bool) {
    let deadline = Instant::now() + KILL_DEADLINE + SHIM_SLACK;
    loop {
        let mut shims = marked_in(&process_table::snapshot(), &is_leftover);
        shims.retain(|marked| {
            matches!(marked.role, ProcessRole::Shim | ProcessRole::Template | ProcessRole::Init)
        });
        if shims.is_empty() || Instant::now() >= deadline {
            return;
        }
        for shim in &shims {
            process_table::signal(&shim.process, Signal::CONT);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

fn processes_of(marked: Vec<MarkedProcess>) -> Vec<Process> {
    marked.into_iter().map(|marked| marked.process).collect()
}

/// Repeats until `roots` selects no live process, or until the deadline.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
fn end(killing: &mut Killing, roots: impl Fn(&[Process]) -> Vec<Process>) -> Reaped {
    let deadline = Instant::now() + KILL_DEADLINE;
    let find = || {
        let table = process_table::snapshot();
        let processes = with_subtrees(&table, roots(&table));
        // Other people may be in the groups of processes that are not our descendants.
        KillTargets { processes, groups: BTreeSet::new() }
    };
    loop {
        let alive = killing.round(find);
        if alive == 0 || Instant::now() >= deadline {
            return Reaped { ended: killing.hit().len().saturating_sub(alive), survivors: alive };
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

/// Names the time between two starts of the machine.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text = text.trim();
    if text.is_empty() { UNNAMED_BOOT.to_owned() } else { text.to_owned() }
}

/// Takes a dead child off the kernel's table. Only called for processes that were ended here and have no other waiter.
fn collect_zombie(pid: u32) {
    if let Some(pid) = pid_of(pid) {
        // Not our child, or not dead yet: then it is not ours to collect.
        rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok();
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests;
