//! The pid namespaces of writ that a process is in: handed down in the environment, and checked against `/proc`.

use contract::domain::process::{NamespaceInit, ProcessIdentity};

use super::mark::OwnerIdentity;
use super::marked::{self, Role};
use super::process_table::{self, Process};
use super::reap;

/// The environment variable that names them, from the outermost to the innermost: `<namespace>/<pid>/<start time>`,
/// separated by commas.
pub const NAMESPACE_VARIABLE: &str = "WRIT_NAMESPACE";

/// Namespaces inside each other. The kernel allows 32.
const LEVELS_MAX: usize = 32;
/// How far up the variable is looked for when this process lost it.
const ANCESTORS_MAX: usize = 256;
/// The pid that the first process of every namespace has inside.
const INIT: u32 = 1;

/// The namespaces of writ that this process is in. None if it lives where writ made none, or cannot tell.
pub fn own_namespaces() -> Vec<NamespaceInit> {
    let Some(process) = process_table::read(std::process::id()) else { return Vec::new() };
    let Some(init) = process_table::read(INIT) else { return Vec::new() };
    let named = marked::variable_of(&process, NAMESPACE_VARIABLE);
    let named = named.or_else(|| if is_ours() { inherited() } else { None });
    let found = named.and_then(|text| parse(&text)).unwrap_or_default();
    // The variable may have come along to where it says nothing: into a container, or through a daemon outside.
    let is_here = found.last().is_some_and(|innermost| innermost.start_time == init.start_time);
    if is_here { found } else { Vec::new() }
}

/// Whether the first process here is one of ours.
fn is_ours() -> bool {
    marked::of(INIT).is_some_and(|marked| marked.role == Role::Init)
}

/// The variable of the nearest ancestor that still has it.
fn inherited() -> Option<String> {
    let mut current = process_table::read(std::process::id())?;
    for _ in 0..ANCESTORS_MAX {
        current = process_table::read(current.parent)?;
        if let Some(text) = marked::variable_of(&current, NAMESPACE_VARIABLE) {
            return Some(text);
        }
    }
    None
}

/// Whether a process in a namespace of writ is alive, as seen from further out. `None` if none of its namespaces was
/// made here.
pub fn is_alive_inside(process: &ProcessIdentity) -> Option<bool> {
    let own = marked::own_pid_namespace()?;
    let init = process.within.iter().find(|init| init.outside == own)?;
    let boot_id = reap::boot_id();
    let init = OwnerIdentity { pid: init.pid, start_time: init.start_time, boot_id };
    // The namespace is gone, and so is everything that was in it.
    if !reap::is_alive(&init) {
        return Some(false);
    }
    let is_same = |other: &Process| {
        other.start_time == process.start_time
            && !other.is_zombie
            && pids_of(other.pid).is_some_and(|pids| pids.len() > 1 && pids.last() == Some(&process.pid))
    };
    Some(process_table::snapshot().iter().any(is_same))
}

pub(super) fn parse(text: &str) -> Option<Vec<NamespaceInit>> {
    let init = |entry: &str| {
        let mut parts = entry.split('/');
        let outside = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let (pid, start_time) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(NamespaceInit { outside, pid, start_time })
    };
    if text.split(',').count() > LEVELS_MAX {
        return None;
    }
    text.split(',').map(init).collect()
}

pub(super) fn text_of(namespaces: &[NamespaceInit]) -> String {
    let entry = |init: &NamespaceInit| format!("{}/{}/{}", init.outside, init.pid, init.start_time);
    namespaces.iter().map(entry).collect::<Vec<_>>().join(",")
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
