//! Finds processes by the marks in their environments.

use std::fs::File;
use std::io::Read;
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

/// Processes of other users cannot be read and count as unmarked.
fn read_mark(process: Process) -> Option<MarkedProcess> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{}/environ", process.pid)).ok()?;
    file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment).ok()?;
    let (marker, role) = mark_of(&environment)?;
    Some(MarkedProcess { process, marker, role })
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

fn pid_namespace(pid: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}
