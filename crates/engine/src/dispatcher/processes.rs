//! The processes of a run's tasks, each known by its number.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::launcher::Children;
use crate::supervisor::{ChildReport, LaunchSpec, StartError};

pub(super) struct Processes {
    children: Box<dyn Children>,
    started: u64,
    /// Those that have not ended.
    running: BTreeSet<u64>,
}

/// A process that has to end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunningProcess {
    pub(super) number: u64,
    /// On the boot clock.
    pub(super) deadline_ms: i64,
}

impl Processes {
    pub(super) fn new(children: Box<dyn Children>) -> Self {
        Self { children, started: 0, running: BTreeSet::new() }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    pub(super) fn start(&mut self, number: u64, spec: LaunchSpec) -> Result<(), StartError> {
        self.children.start(number, spec)?;
        self.running.insert(number);
        Ok(())
    }

    /// The next report of any process, or `None` if there is none within `patience`.
    pub(super) fn next(&mut self, patience: Duration) -> Option<(u64, ChildReport)> {
        let (number, report) = self.children.next(patience)?;
        if matches!(report, ChildReport::Gone(_) | ChildReport::Fault(_) | ChildReport::Lost(_)) {
            self.running.remove(&number);
        }
        Some((number, report))
    }

    pub(super) fn write(&self, number: u64, bytes: &[u8]) {
        self.children.write(number, bytes);
    }

    pub(super) fn stop(&self, number: u64) {
        self.children.stop(number);
    }

    pub(super) fn kill(&self, number: u64) {
        self.children.kill(number);
    }

    /// Asks every process to end.
    pub(super) fn stop_all(&self) {
        self.running.iter().for_each(|&number| self.children.stop(number));
    }

    pub(super) fn end_all(&mut self) {
        self.children.end_all();
    }
}
