//! A program that a command starts and waits for: supervised, bounded in time, ended with everything it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{Namespace, SandboxMode};
use contract::domain::limits::POLL_INTERVAL;
use engine::StopSignal;
use engine::launcher::{Bounds, Wish};
use engine::supervisor::{LaunchSpec, Sandbox, Stdin};
use ops::{Error, Result};

use crate::output::say;
use crate::{config, host};

/// What is to be started.
pub(crate) struct Child {
    pub(crate) argv: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// For its standard input, which is closed afterwards.
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) namespace: Namespace,
    pub(crate) sandbox: Option<Box<Sandbox>>,
}

impl Child {
    /// How the launcher starts it. The length of its output is not limited, because only its tail is kept.
    pub(crate) fn launch(self) -> (LaunchSpec, Bounds) {
        let stdin = if self.input.is_empty() { Stdin::Closed } else { Stdin::Bytes(self.input) };
        let bounds = Bounds { timeout: self.timeout, output_bytes_max: usize::MAX, beyond: Wish::Stop };
        let mut spec =
            LaunchSpec { cwd: self.directory, env: self.environment, stdin, ..host::program(self.argv) };
        spec.confinement.namespace = self.namespace;
        spec.confinement.sandbox = self.sandbox;
        (spec, bounds)
    }
}

/// The command of `what` has no scope of its own and is not sandboxed: refused where the configuration demands a
/// sandbox, and said where it prefers one.
pub(crate) fn without_sandbox(what: &str) -> Result<()> {
    match config::load(&host::absolute(".".into()))?.policy.sandbox {
        None | Some(SandboxMode::Off) => Ok(()),
        Some(SandboxMode::Prefer) => {
            say(&format!("sandbox off: the command of `{what}` is not confined\n"));
            Ok(())
        }
        Some(SandboxMode::Enforce) => {
            let message = format!(
                "the configuration demands a sandbox, and the command of `{what}` cannot be confined"
            );
            Err(Error::new(ErrorCode::Denied, message).hint("use a plan, or set `[sandbox] mode` to prefer"))
        }
    }
}

/// What a request to stop means for a child.
pub(crate) fn wish(stop: &StopSignal) -> Wish {
    match stop.raised() {
        None => Wish::GoOn,
        Some(_) if stop.insists() => Wish::Kill,
        Some(_) => Wish::Stop,
    }
}

/// Waits in small steps, so that a request to stop is heard.
pub(crate) fn pause(length: Duration, stop: &StopSignal) {
    let until = Instant::now() + length;
    let step = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
    while Instant::now() < until && stop.raised().is_none() {
        // Waits without watching anything; an interruption only means looking again.
        rustix::event::poll(&mut [], Some(&step)).ok();
    }
}
