//! The pid namespaces of writ that a process is in. The first process of a namespace tells which it is: its name has
//! its pid outside and its arguments what is around, and nobody inside can change either.

use std::fmt;

use contract::domain::process::{NamespaceInit, ProcessIdentity, Remains};

use super::mark::OwnerIdentity;
use super::process_table::{self, Process};
use super::{marked, reap};

/// The word among the arguments of a shim that says where it lives: the namespaces of writ from the outermost on, each
/// as `<namespace>/<pid>/<start time>`, and the name of the namespace in which the shim is, separated by commas.
pub(super) const OUTSIDE_WORD: &str = "WRIT_OUTSIDE";

/// Before the pid that the first process of a namespace has outside, in its name.
const NAME_PREFIX: &str = "writ:";
/// Of the name of a process, with the byte that ends it.
pub(super) const NAME_BYTES_MAX: usize = 16;
/// Namespaces inside each other. The kernel allows 32.
const LEVELS_MAX: usize = 32;
/// The pid that the first process of every namespace has inside.
const INIT: u32 = 1;

/// The namespaces of writ that this process is in, from the outermost on. None if it lives where writ made none.
pub fn own_namespaces() -> Vec<NamespaceInit> {
    own_path().unwrap_or_default()
}

fn own_path() -> Option<Vec<NamespaceInit>> {
    let name = std::fs::read_to_string(format!("/proc/{INIT}/comm")).ok()?;
    let pid = pid_in_name(&name)?;
    let init = process_table::read(INIT)?;
    let word = marked::argument_of(&init, OUTSIDE_WORD)?;
    let (mut path, outside) = parse(&word)?;
    path.push(NamespaceInit { outside, pid, start_time: init.start_time });
    Some(path)
}

/// What a shim of this process is told about where it lives. `None` where there are no such namespaces.
pub(super) fn outside_word() -> Option<String> {
    let own = marked::own_pid_namespace()?;
    Some(format!("{OUTSIDE_WORD}={}", text_of(&own_namespaces(), &own)))
}

/// The name that the first process of a namespace gives itself, with its pid outside.
pub(super) struct Name(pub(super) u32);

/// Without an allocation, which the first process must not make.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME_PREFIX}{}", self.0)
    }
}

fn pid_in_name(name: &str) -> Option<u32> {
    name.strip_prefix(NAME_PREFIX)?.trim_end().parse().ok()
}

/// Whether a process in a namespace of writ is alive, as seen from further out. `None` if none of its namespaces was
/// made here. `namespace` is the name of the one it is in.
pub fn is_alive_inside(process: &ProcessIdentity, namespace: &str) -> Option<bool> {
    let own = marked::own_pid_namespace()?;
    let init = process.within.iter().find(|init| init.outside == own)?;
    let boot_id = reap::boot_id();
    let init = OwnerIdentity::process(init.pid, init.start_time, boot_id);
    // The namespace is gone, and so is everything that was in it.
    if !reap::is_alive(&init) {
        return Some(false);
    }
    Some(process_table::snapshot().iter().any(|other| is_inside(other, process, namespace)))
}

/// What is left of an engine in a namespace of writ, as seen from further out.
pub(super) fn remains_inside(engine: &ProcessIdentity, namespace: &str) -> Remains {
    let Some(own) = marked::own_pid_namespace() else { return Remains::Unseen };
    let Some(init) = engine.within.iter().find(|init| init.outside == own) else { return Remains::Unseen };
    let boot_id = reap::boot_id();
    if !reap::is_alive(&OwnerIdentity::process(init.pid, init.start_time, boot_id)) {
        return Remains::Gone;
    }
    match find_inside(engine, namespace) {
        Some(process) if process.is_stopped => Remains::Stopped,
        Some(_) => Remains::Running,
        // What it started is in that namespace too, where only those inside can find it.
        None => Remains::Left,
    }
}

/// A process of a namespace of writ, as it is known here.
pub(super) fn find_inside(process: &ProcessIdentity, namespace: &str) -> Option<Process> {
    process_table::snapshot().into_iter().find(|other| is_inside(other, process, namespace))
}

/// Whether this is the process as it is known inside its namespace.
fn is_inside(other: &Process, process: &ProcessIdentity, namespace: &str) -> bool {
    // Processes of two namespaces may have the same pid inside and have begun in the same tick of the clock.
    let is_there = |pid: u32| marked::pid_namespace(&pid.to_string()).is_none_or(|name| name == namespace);
    other.start_time == process.start_time
        && !other.is_zombie
        && pids_of(other.pid).is_some_and(|pids| pids.len() > 1 && pids.last() == Some(&process.pid))
        && is_there(other.pid)
}

/// Whether this is the first process of a namespace.
pub(super) fn is_first(pid: u32) -> bool {
    pids_of(pid).is_some_and(|pids| pids.len() > 1 && pids.last() == Some(&INIT))
}

fn parse(text: &str) -> Option<(Vec<NamespaceInit>, String)> {
    let init = |entry: &str| {
        let mut parts = entry.split('/');
        let outside = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let (pid, start_time) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(NamespaceInit { outside, pid, start_time })
    };
    let mut entries: Vec<&str> = text.split(',').collect();
    let outside = entries.pop().filter(|name| !name.is_empty() && !name.contains('/'))?;
    if entries.len() >= LEVELS_MAX {
        return None;
    }
    Some((entries.into_iter().map(init).collect::<Option<_>>()?, outside.to_owned()))
}

fn text_of(path: &[NamespaceInit], outside: &str) -> String {
    let entry = |init: &NamespaceInit| format!("{}/{}/{},", init.outside, init.pid, init.start_time);
    path.iter().map(entry).collect::<String>() + outside
}

/// The pids of a process, from the namespace of this `/proc` to its own. One pid where they are the same.
pub(super) fn pids_of(pid: u32) -> Option<Vec<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // Kernels before 4.1 do not say.
    line.map_or(Some(vec![pid]), |line| line.split_whitespace().map(|pid| pid.parse().ok()).collect())
}

#[cfg(test)]
mod tests;
