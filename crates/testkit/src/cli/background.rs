//! A program that runs in the background of a test.

use std::io::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;

use crate::{Cli, Output, process, wait};

/// Killed with its process group if the test ends first. It borrows the runner, which kills all its processes when
/// it is dropped.
#[derive(Debug)]
#[must_use = "wait for it, or kill it"]
pub struct Background<'a> {
    runner: PhantomData<&'a Cli>,
    child: Child,
    line: String,
    stdout: PathBuf,
    stderr: PathBuf,
    ended: Option<ExitStatus>,
    deadline: Duration,
}

/// Where its output goes, and how long it is waited for.
pub(super) struct Streams {
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
    pub(super) deadline: Duration,
}

impl<'a> Background<'a> {
    pub(super) fn new(_runner: &'a Cli, child: Child, line: String, streams: Streams) -> Self {
        let Streams { stdout, stderr, deadline } = streams;
        Self { runner: PhantomData, child, line, stdout, stderr, ended: None, deadline }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn stdout(&self) -> String {
        read(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    pub fn is_running(&mut self) -> bool {
        self.poll().is_none()
    }

    pub fn signal(&self, signal: Signal) {
        process::signal(self.pid(), signal);
    }

    /// Writes a line to its standard input, which has to be open (`Call::open_stdin`).
    #[track_caller]
    pub fn send(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("standard input was opened with open_stdin");
        writeln!(stdin, "{line}").expect("the program still reads its standard input");
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.child.stdin = None;
    }

    /// Waits for the end. Panics with the output so far when the deadline of its call passes.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        let deadline = self.deadline;
        match wait::within(deadline, || self.poll()) {
            Some(status) => self.output(status),
            None => panic!(
                "`{}` did not end within {deadline:?}\n--- standard output\n{}\n--- standard error\n{}",
                self.line,
                self.stdout(),
                self.stderr()
            ),
        }
    }

    /// Sends SIGKILL to the program alone, so that the test can observe what happens to its children.
    #[track_caller]
    pub fn kill_nine(self) -> Output {
        self.signal(Signal::KILL);
        self.wait()
    }

    fn output(&self, status: ExitStatus) -> Output {
        Output { line: self.line.clone(), status, stdout: self.stdout(), stderr: self.stderr() }
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("the child is ours to wait for");
        }
        self.ended
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        if self.poll().is_some() {
            return;
        }
        process::signal_group(self.pid(), Signal::KILL);
        // It was just killed, so its exit status does not matter.
        drop(self.child.wait());
    }
}

fn read(path: &PathBuf) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
