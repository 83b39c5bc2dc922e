//! Ends a changing set of processes: stop them first, so that none can fork away, then kill them all.

use std::collections::BTreeSet;

use rustix::process::Signal;

use super::process_table::{self, Delivery, Key, Process};

/// Whom to end.
#[derive(Debug, Default)]
pub(super) struct KillTargets {
    pub(super) processes: Vec<Process>,
    /// Groups that hold only targets.
    pub(super) groups: BTreeSet<u32>,
}

/// What was done so far. Rounds are repeated, because a process may appear while the table is read.
#[derive(Debug, Default)]
pub(super) struct Killing {
    tried: BTreeSet<Key>,
    hit: BTreeSet<Key>,
}

/// Looks before the killing starts anyway. Two are enough unless something forks as fast as it can.
const STOP_LOOKS_MAX: usize = 16;

impl Killing {
    /// Stops what `find` finds until it finds nothing new, and kills it. Gives the number of those still alive.
    pub(super) fn round(&mut self, find: impl Fn() -> KillTargets) -> usize {
        let mut targets = find();
        for _ in 0..STOP_LOOKS_MAX {
            let fresh = |process: &&Process| !process.is_zombie && !self.tried.contains(&process.key());
            let fresh: Vec<Process> = targets.processes.iter().filter(fresh).copied().collect();
            if fresh.is_empty() {
                break;
            }
            let hit = strike(&fresh, &targets.groups, Signal::STOP);
            self.tried.extend(fresh.iter().map(Process::key));
            self.hit.extend(hit.sent.iter().map(Process::key));
            targets = find();
        }
        let living: Vec<Process> =
            targets.processes.into_iter().filter(|process| !process.is_zombie).collect();
        let hit = strike(&living, &targets.groups, Signal::KILL);
        self.hit.extend(hit.sent.iter().map(Process::key));
        hit.sent.len() + hit.refused
    }

    /// Those that were there and were sent a signal. Not all of them die of the kill: the kernel hangs up on a
    /// stopped group when the death of its parent orphans it.
    pub(super) fn hit(&self) -> &BTreeSet<Key> {
        &self.hit
    }
}

struct Hit {
    sent: Vec<Process>,
    refused: usize,
}

/// Signals each process, and then each group in which one of them was found alive: that one, now stopped or
/// dying but not reaped, keeps the group's number from meaning another group.
fn strike(processes: &[Process], groups: &BTreeSet<u32>, signal: Signal) -> Hit {
    let mut hit = Hit { sent: Vec::new(), refused: 0 };
    for process in processes {
        match process_table::signal(process, signal) {
            Delivery::Sent => hit.sent.push(*process),
            Delivery::Refused => hit.refused += 1,
            Delivery::Gone => {}
        }
    }
    let alive: BTreeSet<u32> = hit.sent.iter().map(|process| process.group).collect();
    for &group in groups.intersection(&alive) {
        process_table::signal_group(group, signal);
    }
    hit
}
