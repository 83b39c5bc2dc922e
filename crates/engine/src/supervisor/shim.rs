//! The process between writ and one executor: it ends every descendant of the executor, and does so when writ dies too.

mod children;
mod executor;
#[cfg(target_os = "linux")]
mod identities;
mod link;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(not(target_os = "linux"))]
#[path = "shim/no_namespace.rs"]
mod namespace;
#[cfg(target_os = "linux")]
mod raw;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use contract::domain::confinement::Namespace as Wanted;
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal};

use self::children::{Changes, Children};
use self::executor::Executor;
use self::link::{Link, Order};
use self::namespace::Namespace;
use super::confinement::{InForce, NamespaceInForce};
use super::frame::{Fault, FromShim, Gone};
use super::launch::LaunchSpec;
use super::{process_table, wait_for};

/// While group members use up their grace after the executor ended: how often they are counted.
const MEMBERS_LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs one executor for the writ at the other end of standard input and output.
/// The hidden command calls this before it does anything else.
pub fn shim_main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if this fails as well.
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let changes = Changes::catch()?;
    leave_session()?;
    super::become_subreaper()?;
    let mut link = Link::open()?;
    link.send(&FromShim::Ready);
    let Some(mut spec) = link.receive_launch()? else {
        link.send(&FromShim::Gone(Gone::default()));
        link.flush();
        return Ok(());
    };
    let grace = spec.bounded_grace();
    let (in_force, namespace) = match confine(&mut spec) {
        Ok(confined) => confined,
        Err(error) => {
            // With the number: if the machine is only short of something, it is tried again.
            let message = format!("could not confine the executor: {error}");
            link.send(&FromShim::Fault(Fault { message, errno: error.raw_os_error() }));
            link.flush();
            return Ok(());
        }
    };
    let executor = match Executor::start(spec) {
        Ok(executor) => executor,
        Err(fault) => {
            namespace.iter().for_each(Namespace::end);
            link.send(&FromShim::Fault(fault));
            link.flush();
            return Ok(());
        }
    };
    let children = Children::new(changes, executor.pid, namespace);
    link.send(&FromShim::Started { pid: executor.group(), in_force });
    let mut shim = Shim { link, children, executor, grace };
    shim.watch();
    let gone = shim.children.end_all();
    shim.tell_exit();
    shim.executor.drain(&mut shim.link);
    shim.link.send(&FromShim::Gone(gone));
    shim.link.flush();
    Ok(())
}

/// Confines this process, and so what it will start, as far as the system allows.
fn confine(spec: &mut LaunchSpec) -> io::Result<(InForce, Option<Namespace>)> {
    let (in_force, namespace) = match spec.confinement.namespace {
        Wanted::Off => (NamespaceInForce::Off, None),
        Wanted::On => {
            // Entering a namespace leaves the directory behind from which a relative path counts.
            spec.cwd = std::path::absolute(&spec.cwd)?;
            match namespace::enter()? {
                Ok(namespace) => (NamespaceInForce::On, Some(namespace)),
                Err(reason) => (NamespaceInForce::Refused(reason), None),
            }
        }
    };
    if namespace.is_some() {
        // Nothing is left for this process to do when writ dies, so that it may even be stopped then.
        namespace::die_with_parent()?;
    }
    namespace::refuse_tracing();
    Ok((InForce { namespace: in_force }, namespace))
}

/// A session of its own: no terminal whose signals or questions reach the executor, and groups that hold
/// nobody but descendants.
fn leave_session() -> io::Result<()> {
    match rustix::process::setsid() {
        Ok(_) => Ok(()),
        Err(_) if rustix::process::getsid(None)? == rustix::process::getpid() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn raw_pid(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

struct Shim {
    link: Link,
    children: Children,
    executor: Executor,
    grace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The executor's group was asked to end and has until then.
    Asked {
        until: Instant,
    },
    Ending,
}

impl Shim {
    /// Serves both sides until it is time to end whatever is left.
    fn watch(&mut self) {
        let mut phase = Phase::Running;
        loop {
            // Orders first: writ may have died while the launch was read, and then nothing would wake the wait.
            while phase != Phase::Ending
                && let Some(order) = self.link.next_order()
            {
                phase = self.obey(phase, order);
            }
            phase = self.outgrow(phase);
            if phase == Phase::Ending {
                return;
            }
            self.wait(phase);
            self.children.look();
            self.tell_exit();
            self.executor.feed();
            self.executor.pump(&mut self.link);
            self.link.write_some();
        }
    }

    fn obey(&self, phase: Phase, order: Order) -> Phase {
        match (phase, order) {
            (_, Order::Kill) => Phase::Ending,
            (Phase::Running, Order::Stop) => {
                self.ask();
                Phase::Asked { until: Instant::now() + self.grace }
            }
            // Asked once is asked; a second request does not give more time.
            (Phase::Asked { .. } | Phase::Ending, Order::Stop) => phase,
        }
    }

    /// The phase that follows when nobody orders one.
    fn outgrow(&self, phase: Phase) -> Phase {
        let has_exited = self.children.exit().is_some();
        match phase {
            Phase::Running if has_exited => Phase::Ending,
            Phase::Asked { until } if Instant::now() >= until => Phase::Ending,
            // Behind a wrapper that ends at once, the real agent may still be saving its session.
            Phase::Asked { .. } if has_exited && !self.has_members() => Phase::Ending,
            Phase::Running | Phase::Asked { .. } | Phase::Ending => phase,
        }
    }

    /// Asks the executor's group. Its tools in sessions of their own are the executor's to end, or the kill's.
    fn ask(&self) {
        process_table::signal_group(self.executor.group(), Signal::TERM);
        // A stopped process would only see the request when it is too late.
        process_table::signal_group(self.executor.group(), Signal::CONT);
    }

    fn has_members(&self) -> bool {
        if let Some(namespace) = self.children.namespace() {
            return namespace.has_group_members();
        }
        let group = self.executor.group();
        process_table::snapshot().iter().any(|process| process.group == group && !process.is_zombie)
    }

    fn tell_exit(&mut self) {
        if let Some(exit) = self.children.take_news() {
            self.link.send(&FromShim::Exited(exit));
        }
    }

    /// Until something can be done, or the phase's time is over.
    fn wait(&mut self, phase: Phase) {
        let timeout = match phase {
            Phase::Running | Phase::Ending => None,
            Phase::Asked { .. } if self.children.exit().is_some() => Some(MEMBERS_LOOK_INTERVAL),
            Phase::Asked { until } => Some(until.saturating_duration_since(Instant::now())),
        };
        let mut waits = vec![self.children.wait_for_change()];
        waits.extend(self.executor.waits(self.link.has_room()));
        let from_link = waits.len();
        waits.extend(self.link.waits());
        wait_for(&mut waits, timeout);
        let hears_nothing = waits[from_link..].iter().any(|wait| wait.revents().contains(PollFlags::ERR));
        drop(waits);
        if hears_nothing {
            self.link.give_up();
        }
    }
}
