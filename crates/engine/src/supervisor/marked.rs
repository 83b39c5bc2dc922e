//! Finds processes by the marks in their environments.

use std::fs::File;
use std::io::{self, Read};

use super::mark::{Marker, OwnerIdentity, SHIM_VARIABLE, VARIABLE, nobodys_attempt};
use super::namespaces;
use super::process_table::{self, Process};

/// A process that carries a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    pub process: Process,
    pub marker: Marker,
    pub role: ProcessRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// The process between writ and the executor.
    Shim,
    /// The process that shims are copies of. No executor is below it.
    Template,
    /// The first process of the executor's namespace. When it is gone, so is everything inside.
    Init,
    /// The executor, or anything it started.
    Executor,
}

/// Environments are read up to here. The kernel's own limit for one is lower by default.
const ENVIRONMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Of the arguments of a shim, which has a few.
const ARGUMENTS_BYTES_MAX: u64 = 16 * 1024;

/// All marked processes that this user may look into and that `filter` wants.
pub fn find_marked(filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    marked_in(&process_table::snapshot(), filter)
}

pub(super) fn marked_in(table: &[Process], filter: impl Fn(&Marker) -> bool) -> Vec<MarkedProcess> {
    let namespace = own_pid_namespace();
    table
        .iter()
        .filter(|process| !process.is_zombie)
        .filter_map(|&process| read_mark(process))
        .filter(|marked| filter(&marked.marker))
        .filter(|marked| is_from_here(marked, namespace.as_deref()))
        .collect()
}

/// Whether the mark was given in this pid namespace. In another one the owner's pid means another process, which may
/// well be alive.
fn is_from_here(marked: &MarkedProcess, namespace: Option<&str>) -> bool {
    let pid = marked.process.pid;
    match (marked.role, pid_namespace(&pid.to_string())) {
        // The shim that gave it the mark lives one namespace further out.
        (ProcessRole::Init, _) => levels(pid) == 2,
        (ProcessRole::Shim | ProcessRole::Template | ProcessRole::Executor, Some(own)) => {
            Some(own.as_str()) == namespace
        }
        // A process that cannot be traced hides the name of its namespace, but not how deep it is.
        (ProcessRole::Shim | ProcessRole::Template | ProcessRole::Executor, None) => levels(pid) == 1,
    }
}

fn levels(pid: u32) -> usize {
    namespaces::pids_of(pid).map_or(0, |pids| pids.len())
}

/// The mark of one process.
fn of(pid: u32) -> Option<MarkedProcess> {
    read_mark(process_table::read(pid)?)
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
        match process_table::read(current.parent) {
            Some(parent) => current = parent,
            // The parent of a namespace's executor is outside. Everything in it was started by an engine.
            None => return of(1).filter(|first| first.role == ProcessRole::Init),
        }
    }
    None
}

/// Whether the process certainly carries no mark. One that is ending has no environment any more; it has no
/// arguments then either.
pub(super) fn is_unmarked(process: &Process) -> bool {
    let is_bare = environment_of(process).is_ok_and(|environment| mark_of(&environment).is_none());
    is_bare && std::fs::read(format!("/proc/{}/cmdline", process.pid)).is_ok_and(|line| !line.is_empty())
}

/// What a process has to do with an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    None,
    /// It carries the engine's mark, at whatever depth of namespaces.
    Marked,
    /// It is ending, and may have carried it: the environment goes before the process does.
    Ending,
}

pub(super) fn trace_of(process: &Process, engine: &OwnerIdentity) -> Trace {
    /// The parent of the kernel's threads, which have no environment.
    const KERNEL: u32 = 2;
    if process.is_zombie || process.pid == KERNEL || process.parent == KERNEL {
        return Trace::None;
    }
    match read_mark(*process) {
        Some(marked) if marked.marker.owner.is(engine) => return Trace::Marked,
        Some(_) => return Trace::None,
        None => {}
    }
    let is_bare = environment_of(process).is_ok_and(|environment| environment.is_empty());
    let is_ending = is_bare && arguments_of(process).is_ok_and(|arguments| arguments.is_empty());
    if is_ending { Trace::Ending } else { Trace::None }
}

/// Whether this process is a template of shims.
pub(super) fn is_template(process: Process) -> bool {
    read_mark(process).is_some_and(|marked| marked.role == ProcessRole::Template)
}

/// Processes of other users cannot be read and count as unmarked.
fn read_mark(process: Process) -> Option<MarkedProcess> {
    let found = match environment_of(&process) {
        Ok(environment) => mark_of(&environment),
        // A shim has its mark among its arguments, which everybody may read.
        Err(_) => mark_of(&arguments_of(&process).ok()?).filter(|(_, role)| *role == ProcessRole::Shim),
    };
    let (marker, role) = found?;
    // The first process of a namespace is a copy of the shim, and has its mark.
    let is_first = || namespaces::pids_of(process.pid).is_some_and(|pids| pids.last() == Some(&1));
    let role = match role {
        ProcessRole::Shim if is_first() => ProcessRole::Init,
        ProcessRole::Shim if marker.attempt == nobodys_attempt() => ProcessRole::Template,
        role => role,
    };
    Some(MarkedProcess { process, marker, role })
}

/// The value of an argument `name=value`.
pub(super) fn argument_of(process: &Process, name: &str) -> Option<String> {
    let arguments = arguments_of(process).ok()?;
    let mut words = arguments.split(|&byte| byte == 0);
    words.find_map(|word| {
        let (found, value) = std::str::from_utf8(word).ok()?.split_once('=')?;
        (found == name).then(|| value.to_owned())
    })
}

fn arguments_of(process: &Process) -> io::Result<Vec<u8>> {
    let mut arguments = Vec::new();
    let file = File::open(format!("/proc/{}/cmdline", process.pid))?;
    file.take(ARGUMENTS_BYTES_MAX).read_to_end(&mut arguments)?;
    Ok(arguments)
}

fn environment_of(process: &Process) -> io::Result<Vec<u8>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{}/environ", process.pid))?;
    file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment)?;
    Ok(environment)
}

fn mark_of(environment: &[u8]) -> Option<(Marker, ProcessRole)> {
    environment.split(|&byte| byte == 0).find_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        let role = match name {
            VARIABLE => ProcessRole::Executor,
            SHIM_VARIABLE => ProcessRole::Shim,
            _ => return None,
        };
        Some((Marker::parse(value).ok()?, role))
    })
}

/// The name of the namespace in which this process knows others by their pids.
pub fn own_pid_namespace() -> Option<String> {
    pid_namespace("self")
}

pub(super) fn pid_namespace(pid: &str) -> Option<String> {
    let name = std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
    Some(name.to_string_lossy().into_owned())
}
