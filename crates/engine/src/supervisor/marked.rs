//! Finds processes by the marks in their environments.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::mark::{Marker, SHIM_VARIABLE, VARIABLE};
use super::process_table::{self, Process};

/// A process that carries a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    pub process: Process,
    pub marker: Marker,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The process between writ and the executor.
    Shim,
    /// The executor, or anything it started.
    Executor,
}

/// Environments are read up to here. The kernel's own limit for one is lower by default.
const ENVIRONMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// All marked processes that this user may look into and that `filter` wants.
pub fn find_marked(filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    marked_in(&process_table::snapshot(), filter)
}

pub(super) fn marked_in(table: &[Process], filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    let namespace = pid_namespace("self");
    table
        .iter()
        .filter(|process| !process.is_zombie)
        .filter_map(|&process| read_mark(process))
        .filter(|marked| filter(&marked.marker))
        // In another namespace the owner's pid means another process, which may well be alive.
        .filter(|marked| pid_namespace(&marked.process.pid.to_string()) == namespace)
        .collect()
}

/// The nearest ancestor of this process that an engine started, or this process itself.
pub fn marked_ancestor() -> Option<MarkedProcess> {
    /// Deeper trees are not looked at.
    const ANCESTORS_MAX: usize = 256;
    let mut current = process_table::read(std::process::id())?;
    for _ in 0..ANCESTORS_MAX {
        if let Some(marked) = read_mark(current) {
            return Some(marked);
        }
        current = process_table::read(current.parent)?;
    }
    None
}

/// Whether the process certainly carries no mark. One that is ending has no environment any more; it has no
/// arguments then either.
pub(super) fn is_unmarked(process: &Process) -> bool {
    let is_bare = environment_of(process).is_ok_and(|environment| mark_of(&environment).is_none());
    is_bare && std::fs::read(format!("/proc/{}/cmdline", process.pid)).is_ok_and(|line| !line.is_empty())
}

/// Processes of other users cannot be read and count as unmarked.
fn read_mark(process: Process) -> Option<MarkedProcess> {
    let (marker, role) = mark_of(&environment_of(&process).ok()?)?;
    Some(MarkedProcess { process, marker, role })
}

fn environment_of(process: &Process) -> io::Result<Vec<u8>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{}/environ", process.pid))?;
    file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment)?;
    Ok(environment)
}

fn mark_of(environment: &[u8]) -> Option<(Marker, Role)> {
    environment.split(|&byte| byte == 0).find_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        let role = match name {
            VARIABLE => Role::Executor,
            SHIM_VARIABLE => Role::Shim,
            _ => return None,
        };
        Some((Marker::parse(value).ok()?, role))
    })
}

/// The name of the namespace in which this process knows others by their pids.
pub fn own_pid_namespace() -> Option<String> {
    pid_namespace("self").map(|name| name.to_string_lossy().into_owned())
}

fn pid_namespace(pid: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}
