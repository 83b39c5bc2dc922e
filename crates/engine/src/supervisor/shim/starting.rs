//! Starts the executor's process.
//!
//! Until its program begins it has the shim's memory, and the shim stands still: a copy would cost more than the program of a
//! small task does, because each page that either of them touches afterwards would be copied too.

#![expect(unsafe_code, reason = "starting a program in a process that shares memory has no safe form")]

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use libc::c_char;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, chdir, setpgid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::raw;
use crate::supervisor::launch::{LaunchSpec, Stdin};
use crate::supervisor::mark::VARIABLE;
use crate::supervisor::sandbox::{Barrier, SandboxStep};

/// A process and the shim's ends of its pipes.
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Why there is none.
pub(super) struct NotStarted {
    /// The step of the sandbox that failed. `None` if it was the program.
    pub(super) step: Option<&'static str>,
    pub(super) error: io::Error,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self { step: None, error }
    }
}

/// Everything that the process needs, made before it begins.
struct ChildParts {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    cwd: CString,
    arguments: Strings,
    environment: Strings,
    barrier: Option<Barrier>,
    /// What the process tells: the step of the sandbox it came to, and why it could not go on.
    step: Option<SandboxStep>,
    error: Option<io::Error>,
}

pub(super) fn start(spec: &LaunchSpec, barrier: Option<Barrier>) -> Result<Started, NotStarted> {
    let (stdin, feed) = match spec.stdin {
        Stdin::Closed => (File::open("/dev/null")?.into(), None),
        Stdin::Bytes(_) | Stdin::KeptOpen(_) => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(writer.into()))
        }
    };
    let (out, stdout) = output()?;
    let (err, stderr) = output()?;
    let marker = spec.marker.to_string();
    let own = (OsStr::new(VARIABLE), OsStr::new(&marker));
    let others = spec.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let variables = others.filter(|(name, _)| *name != own.0).chain([own]);
    let variables = variables.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let mut birth = ChildParts {
        stdin,
        stdout,
        stderr,
        cwd: string(spec.cwd.as_os_str().as_bytes().to_owned())?,
        arguments: Strings::new(spec.argv.iter().map(|word| word.as_bytes().to_owned()))?,
        environment: Strings::new(variables)?,
        barrier,
        step: None,
        error: None,
    };
    let pid = raw::start(&mut || birth.fail_or_become()).map_err(io::Error::from)?;
    match birth.error {
        None => Ok(Started { pid, stdin: feed, stdout: out.into(), stderr: err.into() }),
        Some(error) => {
            waitpid(Some(pid), WaitOptions::empty()).ok();
            Err(NotStarted { step: birth.step.and_then(SandboxStep::name), error })
        }
    }
}

fn output() -> io::Result<(PipeReader, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader, writer.into()))
}

impl ChildParts {
    /// In the new process: becomes the program, or notes why it cannot.
    fn fail_or_become(&mut self) {
        let error = match self.prepare() {
            Ok(()) => self.become_program(),
            Err(error) => error,
        };
        self.error = Some(error);
    }

    fn prepare(&mut self) -> io::Result<()> {
        dup2_stdin(self.stdin.as_fd())?;
        dup2_stdout(self.stdout.as_fd())?;
        dup2_stderr(self.stderr.as_fd())?;
        chdir(&self.cwd)?;
        setpgid(None, None)?;
        let step = &mut self.step;
        self.barrier.as_ref().map_or(Ok(()), |barrier| barrier.close(|next| *step = Some(next)))
    }

    /// Returns only if the program cannot be started. It is looked for in the search path of its own environment.
    fn become_program(&self) -> io::Error {
        let Some(&program) = self.arguments.pointers.first() else { return Errno::INVAL.into() };
        // SAFETY: the shim stands still and has one thread, so nobody else reads the variable. All strings and lists end
        // with a zero and live as long as `self`.
        unsafe {
            let outside = environ;
            environ = self.environment.pointers.as_ptr();
            libc::execvp(program, self.arguments.pointers.as_ptr());
            let error = io::Error::last_os_error();
            environ = outside;
            error
        }
    }
}

unsafe extern "C" {
    /// Where the C library looks for the search path.
    static mut environ: *const *const c_char;
}

/// Strings as the kernel takes them.
struct Strings {
    /// Ends with a null pointer.
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> io::Result<Self> {
        let owned: Vec<CString> = strings.map(string).collect::<io::Result<_>>()?;
        let pointers = owned.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Self { pointers, _owned: owned })
    }
}

fn string(bytes: Vec<u8>) -> io::Result<CString> {
    Ok(CString::new(bytes)?)
}
