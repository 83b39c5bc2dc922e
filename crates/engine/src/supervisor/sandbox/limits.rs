//! What all processes of a namespace use together, looked at each second.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use contract::domain::limits::SANDBOX_DESCRIPTORS_MAX;

use super::Limits;
use super::memory::{MemoryMounts, MemoryUse};
use crate::supervisor::process_table::Process;

/// How often memory and processes are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches over the limits.
pub(in crate::supervisor) struct LimitWatch {
    limits: Limits,
    places: MemoryMounts,
    due: Instant,
}

impl LimitWatch {
    /// The first look comes soon: much can be allocated in a second. What is in these directories is in memory.
    pub(in crate::supervisor) fn new(limits: Limits, in_memory: Vec<PathBuf>) -> Self {
        Self { limits, places: MemoryMounts::new(in_memory), due: Instant::now() + INTERVAL / 4 }
    }

    /// Prepares to count what is in shared segments. Says why it cannot be done.
    pub(in crate::supervisor) fn see_segments(&mut self, inside: &[Process]) -> Option<String> {
        self.places.see_segments(inside)
    }

    /// How long to wait for the next look.
    pub(in crate::supervisor) fn wait(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Looks if it is time to. Says what was exceeded.
    pub(in crate::supervisor) fn look(&mut self, inside: impl FnOnce() -> Vec<Process>) -> Option<String> {
        if Instant::now() < self.due {
            return None;
        }
        let processes = inside();
        self.due = Instant::now() + INTERVAL;
        exceeded(&self.limits, processes.len(), self.places.held(&processes))
    }
}

fn exceeded(limits: &Limits, processes: usize, held: MemoryUse) -> Option<String> {
    if processes >= usize::try_from(limits.processes_max).unwrap_or(usize::MAX) {
        return Some(format!("more than {} processes", limits.processes_max));
    }
    let mebibytes = limits.memory_bytes_max / (1024 * 1024);
    if held.bytes > limits.memory_bytes_max {
        return Some(format!("more than {mebibytes} MiB of memory"));
    }
    // So many descriptors could hide uncounted memory.
    held.is_partial.then(|| format!("more than {SANDBOX_DESCRIPTORS_MAX} open files"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_exceeded_above_its_memory_and_at_its_processes() {
        let limits = Limits { processes_max: 10, memory_bytes_max: 2 * 1024 * 1024 };
        let held = |bytes| MemoryUse { bytes, is_partial: false };
        assert_eq!(exceeded(&limits, 9, held(2 * 1024 * 1024)), None);
        let said = exceeded(&limits, 9, held(2 * 1024 * 1024 + 1));
        assert_eq!(said.as_deref(), Some("more than 2 MiB of memory"));
        assert_eq!(exceeded(&limits, 10, held(0)).as_deref(), Some("more than 10 processes"));
        let said = exceeded(&limits, 1, MemoryUse { bytes: 0, is_partial: true });
        assert_eq!(said.as_deref(), Some("more than 200000 open files"));
    }
}
