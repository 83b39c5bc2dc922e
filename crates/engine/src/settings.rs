//! What an engine is told by whoever hosts it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use crate::Policy;
use crate::supervisor::ShimProgram;

pub struct Settings {
    /// How the supervising process in the middle is started.
    pub shim: ShimProgram,
    /// Where the output of attempts is kept.
    pub logs: PathBuf,
    pub policy: Policy,
    /// What every child inherits.
    pub environment: BTreeMap<OsString, OsString>,
    pub stop: StopSignal,
    /// Run interrupted tasks again even where the plan does not say that this is safe. A person decided.
    pub rerun_parked: bool,
    /// How long a task waits for what others hold before it is left to a person.
    pub lock_wait: Duration,
}

/// Set by a signal handler, looked at by the engine.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    signal: Arc<AtomicI32>,
    times: Arc<AtomicU32>,
}

impl StopSignal {
    pub fn raise(&self, signal: i32) {
        self.signal.store(signal, Ordering::SeqCst);
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    /// The last signal, if there was one.
    pub fn raised(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// Asked more than once: someone is in a hurry.
    pub fn insists(&self) -> bool {
        self.times.load(Ordering::SeqCst) > 1
    }
}
