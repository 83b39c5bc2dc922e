//! Systems without a sandbox: everything that is asked for is refused, and said.

use std::convert::Infallible;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use super::{Limits, Sandbox, SandboxInForce};
use crate::supervisor::process_table::Process;

const REASON: &str = "this system has no sandbox for processes";

/// There is none.
pub(in crate::supervisor) struct Barrier;

/// Nothing is counted.
pub(in crate::supervisor) struct Usage;

/// There are none.
pub(in crate::supervisor) struct ProxyDoors {
    never: Infallible,
}

pub(in crate::supervisor) fn open_socket_list() -> Option<File> {
    None
}

pub(in crate::supervisor) fn bound_sockets(_: Option<File>) -> Option<Vec<PathBuf>> {
    None
}

pub(in crate::supervisor) fn lay_out(
    sandbox: &Sandbox,
    _: Result<(), String>,
    _: Option<Vec<PathBuf>>,
) -> Result<(Barrier, SandboxInForce), String> {
    if sandbox.is_demanded { Err(REASON.to_owned()) } else { Ok((Barrier, SandboxInForce::refused(REASON))) }
}

impl Barrier {
    pub(in crate::supervisor) fn open(&mut self, doors: ProxyDoors) {
        match doors.never {}
    }

    pub(in crate::supervisor) fn in_memory(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl Usage {
    pub(in crate::supervisor) fn new(_: Limits, _: Vec<PathBuf>) -> Self {
        Self
    }

    pub(in crate::supervisor) fn see_segments(&mut self, _: &[Process]) -> Option<String> {
        None
    }

    pub(in crate::supervisor) fn wait(&self) -> Duration {
        Duration::MAX
    }

    pub(in crate::supervisor) fn look(&mut self, _: impl FnOnce() -> Vec<Process>) -> Option<String> {
        None
    }
}
