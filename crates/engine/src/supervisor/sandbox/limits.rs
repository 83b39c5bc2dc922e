//! What all processes of a namespace use together, looked at each second.

use std::time::{Duration, Instant};

use super::Limits;
use crate::supervisor::process_table::Process;

/// How often memory and processes are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches over the limits.
pub(in crate::supervisor) struct Usage {
    limits: Limits,
    due: Instant,
}

impl Usage {
    /// The first look comes soon: much can be allocated in a second.
    pub(in crate::supervisor) fn new(limits: Limits) -> Self {
        Self { limits, due: Instant::now() + INTERVAL / 4 }
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
        let bytes = processes.iter().filter_map(|process| resident_bytes(process.pid)).sum();
        exceeded(&self.limits, processes.len(), bytes)
    }
}

fn exceeded(limits: &Limits, processes: usize, bytes: u64) -> Option<String> {
    if processes >= usize::try_from(limits.processes_max).unwrap_or(usize::MAX) {
        return Some(format!("more than {} processes", limits.processes_max));
    }
    let mebibytes = limits.memory_bytes_max / (1024 * 1024);
    (bytes > limits.memory_bytes_max).then(|| format!("more than {mebibytes} MiB of memory"))
}

/// `None` if the process has ended.
fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_exceeded_above_its_memory_and_at_its_processes() {
        let limits = Limits { processes_max: 10, memory_bytes_max: 2 * 1024 * 1024 };
        assert_eq!(exceeded(&limits, 9, 2 * 1024 * 1024), None);
        assert_eq!(exceeded(&limits, 9, 2 * 1024 * 1024 + 1).as_deref(), Some("more than 2 MiB of memory"));
        assert_eq!(exceeded(&limits, 10, 0).as_deref(), Some("more than 10 processes"));
    }
}
