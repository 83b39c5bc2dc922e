//! The shim's children: the executor, and every orphan below it that came to the shim.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use contract::domain::limits::KILL_DEADLINE;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM};

use super::namespace::Namespace;
use super::raw_pid;
use crate::supervisor::frame::{Gone, ProcessExit};
use crate::supervisor::killing::{KillTargets, Killing};
use crate::supervisor::{process_table, wait_for};

/// After a kill, how long to wait for the deaths before looking again.
const DEATHS_WAIT: Duration = Duration::from_millis(5);

/// What tells the shim about its children. Made before anything is started, so that no end of a child is missed.
pub(super) struct ChildSignals {
    signals: UnixStream,
    own: OwnChildren,
}

impl ChildSignals {
    pub(super) fn catch() -> io::Result<Self> {
        let (signals, teller) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, teller)?;
        // Meant for others, or for writ, which will say what to do; and a pipe that breaks is noticed where it is
        // written to. A handler and not "ignore": that would be inherited by the executor.
        let unread = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM, SIGPIPE] {
            signal_hook::flag::register(signal, Arc::clone(&unread))?;
        }
        Ok(Self { signals, own: OwnChildren::open() })
    }

    fn forget(&self) {
        let mut buffer = [0; 256];
        while matches!(rustix::io::read(&self.signals, &mut buffer), Ok(1..)) {}
    }
}

pub(super) struct Children {
    changes: ChildSignals,
    executor: Pid,
    /// Where the executor lives, if it has a namespace of its own.
    namespace: Option<Namespace>,
    state: ChildState,
    is_news: bool,
}

/// The kernel's list of this process's children, opened before anything was started: an executor without a namespace
/// of its own may take the shim's right to open files away with `prlimit`.
struct OwnChildren(Option<File>);

/// Of the list that is looked at in one round: thousands of pids. There are further rounds.
const LIST_BYTES_MAX: usize = 16 * 1024;

impl OwnChildren {
    fn open() -> Self {
        // A kernel without this file leaves the process table alone.
        Self(File::open("/proc/thread-self/children").ok())
    }

    /// None of them was collected yet, so each pid is its own.
    fn pids(&self) -> Vec<Pid> {
        let mut list = [0; LIST_BYTES_MAX];
        let length = self.0.as_ref().and_then(|file| rustix::io::pread(file, &mut list, 0).ok()).unwrap_or(0);
        // A number at the end of a full buffer may be cut off, and would be another process.
        let whole = list[..length].iter().rposition(|&byte| byte == b' ').unwrap_or(0);
        let words = std::str::from_utf8(&list[..whole]).unwrap_or_default().split_ascii_whitespace();
        words.filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChildState {
    Running,
    /// Dead, and kept as a zombie: as long as it is there, its group's number cannot mean another group.
    Ended(ProcessExit),
    Reaped(ProcessExit),
}

impl Children {
    pub(super) fn new(changes: ChildSignals, executor: Pid, namespace: Option<Namespace>) -> Self {
        Self { changes, executor, namespace, state: ChildState::Running, is_news: false }
    }

    pub(super) fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// How the executor ended, once it has.
    pub(super) fn exit(&self) -> Option<ProcessExit> {
        match self.state {
            ChildState::Running => None,
            ChildState::Ended(exit) | ChildState::Reaped(exit) => Some(exit),
        }
    }

    /// The same, once.
    pub(super) fn take_news(&mut self) -> Option<ProcessExit> {
        std::mem::take(&mut self.is_news).then(|| self.exit()).flatten()
    }

    /// Becomes readable when a child has ended.
    pub(super) fn wait_for_change(&self) -> PollFd<'_> {
        PollFd::new(&self.changes.signals, PollFlags::IN)
    }

    /// Notes the executor's end, and collects orphans that ended before it.
    pub(super) fn look(&mut self) {
        self.changes.forget();
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.executor), peek) {
            Ok(Some(status)) => {
                let signal = || status.terminating_signal().map(ProcessExit::Signal);
                if let Some(exit) = status.exit_status().map(ProcessExit::Code).or_else(signal) {
                    self.is_news |= self.exit().is_none();
                    self.state = ChildState::Ended(exit);
                }
            }
            _ => {
                self.reap();
            }
        }
    }

    /// Ends every descendant, wherever it hid: another group, another session, re-parented.
    pub(super) fn end_all(&mut self) -> Gone {
        if let Some(namespace) = self.namespace.take() {
            return self.end_namespace(&namespace);
        }
        let deadline = Instant::now() + KILL_DEADLINE;
        if !matches!(self.state, ChildState::Reaped(_)) {
            // In one step, so that a chain of forks in this group cannot run ahead of the table. Where there is
            // no table, the group is all that can be found.
            let signal =
                if process_table::read(std::process::id()).is_some() { Signal::STOP } else { Signal::KILL };
            process_table::signal_group(raw_pid(self.executor), signal);
        }
        let mut killing = Killing::default();
        let mut unseen = BTreeSet::new();
        let mut survivors = 0;
        while self.reap() {
            let is_blind = process_table::read(std::process::id()).is_none();
            if Instant::now() >= deadline {
                let alive = || family().processes.iter().filter(|process| !process.is_zombie).count();
                survivors = if is_blind { self.changes.own.pids().len().max(1) } else { alive() };
                break;
            }
            if is_blind {
                unseen.extend(self.kill_children());
            } else {
                killing.round(family);
            }
            wait_for(&mut [self.wait_for_change()], Some(DEATHS_WAIT));
            self.changes.forget();
        }
        let executor = raw_pid(self.executor);
        unseen.extend(killing.hit().iter().map(|(pid, _)| *pid));
        let others = unseen.iter().filter(|pid| **pid != executor).count();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Gone { killed: count(others.saturating_sub(survivors)), survivors: count(survivors) }
    }

    /// Without the table: the children go, theirs come to this process, and go in the next round.
    fn kill_children(&self) -> Vec<u32> {
        let pids = self.changes.own.pids();
        for &pid in &pids {
            // It is dead already, or another user's.
            rustix::process::kill_process(pid, Signal::KILL).ok();
        }
        pids.into_iter().map(raw_pid).collect()
    }

    /// Ends the namespace, and with it everything inside. Its first process ends when all others are gone.
    fn end_namespace(&mut self, namespace: &Namespace) -> Gone {
        let deadline = Instant::now() + KILL_DEADLINE;
        let others = namespace.members().len();
        namespace.kill();
        let mut survivors = 0;
        while self.reap() {
            if Instant::now() >= deadline {
                // Stuck inside the kernel. The first process waits for them, so it is still there too.
                survivors = namespace.members().len().max(1);
                break;
            }
            wait_for(&mut [self.wait_for_change()], Some(DEATHS_WAIT));
            self.changes.forget();
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Gone { killed: count(others.saturating_sub(survivors)), survivors: count(survivors) }
    }

    /// Collects the dead. Says whether any child is left: if none is, no descendant is either, because
    /// orphans of any depth become children of this process.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.note(pid, status),
                Ok(None) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        let signal = || status.terminating_signal().map(ProcessExit::Signal);
        if pid == self.executor
            && let Some(exit) = status.exit_status().map(ProcessExit::Code).or_else(signal)
        {
            self.is_news |= self.exit().is_none();
            self.state = ChildState::Reaped(exit);
        }
    }
}

/// All descendants, and their groups. A group lies within one session, and every session at or below the
/// shim's holds only descendants, so just the shim's own group has to be left out.
fn family() -> KillTargets {
    let own_pid = std::process::id();
    let processes = process_table::descendants(&process_table::snapshot(), own_pid, &BTreeSet::new());
    let groups = processes.iter().map(|process| process.group).filter(|&group| group != own_pid).collect();
    KillTargets { processes, groups }
}
