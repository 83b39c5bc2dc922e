//! Starts the executor's process, on systems without a sandbox.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Pid;

use crate::supervisor::launch::{LaunchSpec, Stdin};
use crate::supervisor::mark::VARIABLE;
use crate::supervisor::sandbox::Barrier;

/// A process and the shim's ends of its pipes.
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Why there is none.
pub(super) struct NotStarted {
    /// Never there: nothing is closed around the process.
    pub(super) step: Option<&'static str>,
    pub(super) error: io::Error,
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts processes")]
pub(super) fn start(spec: &LaunchSpec, _: Option<Barrier>) -> Result<Started, NotStarted> {
    let mut command = Command::new(spec.argv.first().map(OsString::as_os_str).unwrap_or_default());
    command.args(spec.argv.iter().skip(1)).current_dir(&spec.cwd).process_group(0);
    command.env_clear().envs(&spec.env).env(VARIABLE, spec.marker.to_string());
    command.stdin(match spec.stdin {
        Stdin::Closed => Stdio::null(),
        Stdin::Bytes(_) | Stdin::KeptOpen(_) => Stdio::piped(),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| NotStarted { step: None, error })?;
    Ok(Started {
        pid: Pid::from_child(&child),
        stdin: child.stdin.take().map(ChildStdin::into),
        stdout: child.stdout.take().map(ChildStdout::into).expect("BUG: it was asked for"),
        stderr: child.stderr.take().map(ChildStderr::into).expect("BUG: it was asked for"),
    })
}
