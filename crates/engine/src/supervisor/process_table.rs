//! The machine's processes as the kernel shows them, and signals that cannot hit the wrong one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

/// One process at the moment it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// Has ended and waits to be reaped. A process with running threads is not one.
    pub is_zombie: bool,
    /// Stopped by a signal, or by a debugger.
    pub is_stopped: bool,
    /// In clock ticks since boot. Together with the pid it identifies one process of a boot.
    pub start_time: u64,
}

/// Identifies one process on one boot.
pub type Key = (u32, u64);

impl Process {
    pub fn key(&self) -> Key {
        (self.pid, self.start_time)
    }
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Sent,
    /// The process is gone; its pid may belong to another one by now.
    Gone,
    /// It is there, and this user may not signal it.
    Refused,
}

/// All processes that can be seen. Not one instant: they come and go while the table is read.
/// Empty on systems without `/proc`.
pub fn snapshot() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

/// One process, if there is one with this pid and it can be seen.
pub fn read(pid: u32) -> Option<Process> {
    look(pid).ok().flatten()
}

/// The same where it matters whether there is none or one could not look.
pub fn look(pid: u32) -> io::Result<Option<Process>> {
    // The line is about 350 bytes; a name of 64 bytes and numbers of full width still fit.
    let mut buffer = [0; 1536];
    let line = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut buffer));
    match line {
        Ok(length) => parse_stat(&buffer[..length]).map(Some).ok_or(io::ErrorKind::InvalidData.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // It ended between the opening and the reading.
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a line of `/proc/PID/stat`. The name may hold spaces and parentheses, so the last `)` ends it.
pub fn parse_stat(line: &[u8]) -> Option<Process> {
    let name_end = line.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?.parse().ok()?;
    let rest = std::str::from_utf8(line.get(name_end + 1..)?).ok()?;
    // Numbered as in proc(5), where the state is field 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    // The kernel shows groups of another pid namespace as 0 and a missing one as -1.
    let id = |number: usize| field(number)?.parse::<i64>().ok().map(|id| u32::try_from(id).unwrap_or(0));
    let threads: u32 = field(20)?.parse().ok()?;
    Some(Process {
        pid,
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        is_zombie: matches!(field(3)?, "Z" | "X" | "x") && threads <= 1,
        is_stopped: matches!(field(3)?, "T" | "t"),
        start_time: field(22)?.parse().ok()?,
    })
}

/// The processes below `root` in the tree of parents, without `root` and without the subtrees of `closed`.
pub fn descendants(table: &[Process], root: u32, closed: &BTreeSet<u32>) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    for process in table {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    // Each list of children is taken out once, so a table that contradicts itself cannot make a circle.
    while let Some(parent) = open.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            if process.pid != root {
                found.push(*process);
            }
            if !closed.contains(&process.pid) {
                open.push(process.pid);
            }
        }
    }
    found
}

/// Signals exactly this process, never another one that got its pid since.
pub fn signal(process: &Process, signal: Signal) -> Delivery {
    let Some(pid) = pid_of(process.pid) else { return Delivery::Gone };
    let sent = exact::send(pid, signal, || read(process.pid).is_some_and(|now| now.key() == process.key()));
    match sent {
        Ok(()) => Delivery::Sent,
        Err(Errno::PERM) => Delivery::Refused,
        Err(_) => Delivery::Gone,
    }
}

/// Signals every member of a group in one step, which a process that forks cannot outrun.
/// The caller guarantees that the group has no other process.
pub fn signal_group(group: u32, signal: Signal) -> Delivery {
    // To the kernel, group 1 means everybody.
    let Some(group) = pid_of(group).filter(|_| group > 1) else { return Delivery::Gone };
    match rustix::process::kill_process_group(group, signal) {
        Ok(()) => Delivery::Sent,
        Err(Errno::PERM) => Delivery::Refused,
        Err(_) => Delivery::Gone,
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(target_os = "linux")]
mod exact {
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

    /// The descriptor pins the process; only then is it compared, so it cannot be exchanged in between.
    pub(super) fn send(pid: Pid, signal: Signal, is_same: impl Fn() -> bool) -> Result<(), Errno> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(_) if !is_same() => Err(Errno::SRCH),
            Ok(pinned) => pidfd_send_signal(&pinned, signal),
            Err(Errno::SRCH) => Err(Errno::SRCH),
            // An old kernel, a filter, or no descriptor left: a short race is better than a survivor.
            Err(_) if is_same() => kill_process(pid, signal),
            Err(_) => Err(Errno::SRCH),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod exact {
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process};

    pub(super) fn send(pid: Pid, signal: Signal, is_same: impl Fn() -> bool) -> Result<(), Errno> {
        if is_same() { kill_process(pid, signal) } else { Err(Errno::SRCH) }
    }
}

#[cfg(test)]
mod tests;
