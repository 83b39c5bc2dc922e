//! Job control: when this process is asked to stop (Ctrl-Z), it first stops everything that it started, and continues it
//! when it goes on itself. The time in between counts toward no deadline.
//!
//! Children are in sessions of their own, so the terminal's signals do not reach them. A process that is stopped with
//! SIGSTOP is not asked; its children then go on, and so do its locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGSTOP, SIGTSTP};

use super::process_table::{self, Delivery, Key, Process};

/// How long a shim may need to start its executor; then it is stopped itself, before it has started anything. And how
/// long a process may take to stop, for example because it waits for a disk.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
/// How many ancestors are searched for one that can continue this process.
const ANCESTORS_MAX: usize = 256;
/// Between two looks while one does.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Held while a child is started, and while all of them are stopped: no child may begin in between.
static STARTING: Mutex<()> = Mutex::new(());

/// How long this process and its children were stopped.
static PAUSES: Mutex<Pauses> = Mutex::new(Pauses { total: Duration::ZERO, since: None });

struct Pauses {
    total: Duration,
    since: Option<Instant>,
}

/// How long everything was stopped so far.
pub fn paused() -> Duration {
    let pauses = lock(&PAUSES);
    pauses.total + pauses.since.map_or(Duration::ZERO, |since| since.elapsed())
}

/// No pause begins while the guard lives. From the first call on, this process stops its children with itself.
pub(super) fn starting() -> MutexGuard<'static, ()> {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(listen);
    lock(&STARTING)
}

/// Without the thread, Ctrl-Z stops this process alone, as SIGSTOP does.
fn listen() {
    if is_ignored() {
        return;
    }
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTSTP]) else { return };
    // Never joined: it ends with the process.
    let thread = std::thread::Builder::new().name("job control".to_owned());
    thread.spawn(move || signals.forever().for_each(|_| pause())).ok();
}

/// Whether the program that started this one did not want it to be stopped from a terminal.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (SIGTSTP - 1)) != 0
}

fn pause() {
    if is_orphaned() {
        return;
    }
    let starting = lock(&STARTING);
    lock(&PAUSES).since = Some(Instant::now());
    let stopped = stop_children();
    // To this very thread, which therefore goes on only when the whole process does.
    signal_hook::low_level::raise(SIGSTOP).ok();
    for process in stopped.values() {
        process_table::signal(process, Signal::CONT);
    }
    let mut pauses = lock(&PAUSES);
    let length = pauses.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    pauses.total += length;
    drop((pauses, starting));
}

/// Whether nobody is there to continue this process: no ancestor of its session controls its group. The kernel ignores
/// a request to stop in that case, and so does this.
fn is_orphaned() -> bool {
    let Some(own) = process_table::read(std::process::id()) else { return false };
    let mut current = own;
    for _ in 0..ANCESTORS_MAX {
        match process_table::read(current.parent) {
            Some(parent) if parent.group == own.group => current = parent,
            Some(parent) => return parent.session != own.session,
            None => return true,
        }
    }
    true
}

/// Stops what the shims have started, until all of it is stopped and nothing new appears. Shims go on: they end their
/// executors if this process dies meanwhile. What was stopped by others is left alone, also later.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody tells when a shim has started its executor or a process is stopped"
)]
fn stop_children() -> BTreeMap<Key, Process> {
    let deadline = Instant::now() + STOP_DEADLINE;
    let mut stopped = BTreeMap::new();
    let mut out_of_reach = BTreeSet::new();
    loop {
        let PauseTargets { mut processes, launching } = targets(&process_table::snapshot());
        let is_late = Instant::now() >= deadline;
        if is_late {
            processes.extend(&launching);
        }
        processes.retain(|process| !process.is_stopped && !out_of_reach.contains(&process.key()));
        let (stopping, new): (Vec<Process>, Vec<Process>) =
            processes.into_iter().partition(|process| stopped.contains_key(&process.key()));
        if new.is_empty() && (is_late || (stopping.is_empty() && launching.is_empty())) {
            return stopped;
        }
        for process in &new {
            match process_table::signal(process, Signal::STOP) {
                Delivery::Sent => drop(stopped.insert(process.key(), *process)),
                Delivery::Gone | Delivery::Refused => drop(out_of_reach.insert(process.key())),
            }
        }
        if new.is_empty() {
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

struct PauseTargets {
    /// Everything below the shims.
    processes: Vec<Process>,
    /// Shims that have started nothing yet, or have ended everything.
    launching: Vec<Process>,
}

/// The children of this process are its shims and their template, which starts no executor.
fn targets(table: &[Process]) -> PauseTargets {
    let own = std::process::id();
    let mut found = PauseTargets { processes: Vec::new(), launching: Vec::new() };
    let is_shim = |process: &&Process| !process.is_zombie && !super::marked::is_template(**process);
    for shim in table.iter().filter(|process| process.parent == own).filter(is_shim) {
        let mut below = process_table::descendants(table, shim.pid, &BTreeSet::new());
        // The first process of a namespace only waits, and its shim waits for it while it gets ready.
        below.retain(|process| !process.is_zombie && !super::namespaces::is_first(process.pid));
        if below.is_empty() {
            found.launching.push(*shim);
        }
        found.processes.append(&mut below);
    }
    found
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
