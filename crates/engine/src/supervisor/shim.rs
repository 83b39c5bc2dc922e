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
#[cfg(not(target_os = "linux"))]
#[path = "shim/no_outlet.rs"]
mod outlet;
#[cfg(target_os = "linux")]
mod outlet;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod starting;
#[cfg(not(target_os = "linux"))]
#[path = "shim/starting_elsewhere.rs"]
mod starting;
#[cfg(not(target_os = "linux"))]
#[path = "shim/no_template.rs"]
mod template;
#[cfg(target_os = "linux")]
mod template;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use contract::domain::confinement::Namespace as Wanted;
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal};

use self::children::{ChildSignals, Children};
use self::executor::Executor;
use self::link::{ShimLink, ShimOrder};
use self::namespace::Namespace;
use self::outlet::Outlet;
use self::template::TemplateRole;
use super::confinement::{InForce, NamespaceInForce};
use super::frame::{FromShim, Gone, StartFault};
use super::launch::LaunchSpec;
use super::sandbox::{self, Barrier, LimitWatch, Reach, Sandbox, SandboxPart};
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
    if template::role()? == TemplateRole::Ended {
        return Ok(());
    }
    let changes = ChildSignals::catch()?;
    leave_session()?;
    super::become_subreaper()?;
    let mut link = ShimLink::open()?;
    let Some(mut spec) = receive(&mut link)? else { return Ok(()) };
    let grace = spec.bounded_grace();
    let is_demanded = spec.confinement.sandbox.as_ref().is_some_and(|sandbox| sandbox.is_demanded);
    let ShimConfinement { mut in_force, namespace, barrier, mut usage, outlet } = match confine(&mut spec) {
        Ok(confined) => confined,
        Err(error) => {
            // With the number: if the machine is only short of something, it is tried again.
            let message = format!("could not confine the executor: {error}");
            link.send(&FromShim::Fault(StartFault { message, errno: error.raw_os_error() }));
            link.flush();
            return Ok(());
        }
    };
    let executor = match Executor::start(spec, barrier) {
        Ok(executor) => executor,
        Err(fault) => {
            namespace.iter().for_each(Namespace::end);
            link.send(&FromShim::Fault(fault));
            link.flush();
            return Ok(());
        }
    };
    if let Some(lack) = uncounted(usage.as_mut(), namespace.as_ref()) {
        if is_demanded {
            namespace.iter().for_each(Namespace::end);
            let message = format!("could not confine the executor: the sandbox lacks limits: {lack}");
            link.send(&FromShim::Fault(StartFault { message, errno: None }));
            link.flush();
            return Ok(());
        }
        in_force.sandbox.iter_mut().for_each(|sandbox| sandbox.limits = SandboxPart::Refused(lack.clone()));
    }
    let children = Children::new(changes, executor.pid, namespace);
    link.send(&FromShim::Started { pid: executor.group(), in_force });
    let mut shim = Shim { link, children, executor, grace, usage, outlet };
    shim.watch();
    // It is a child too, and one that ends by itself.
    shim.end_outlet();
    let gone = shim.children.end_all();
    shim.tell_exit();
    shim.executor.drain(&mut shim.link);
    shim.link.send(&FromShim::Gone(gone));
    shim.link.flush();
    Ok(())
}

fn receive(link: &mut ShimLink) -> io::Result<Option<LaunchSpec>> {
    link.send(&FromShim::Ready);
    let spec = link.receive_launch()?;
    if spec.is_none() {
        link.send(&FromShim::Gone(Gone::default()));
        link.flush();
    }
    Ok(spec)
}

/// Why not all of the memory of a namespace can be counted.
fn uncounted(usage: Option<&mut LimitWatch>, namespace: Option<&Namespace>) -> Option<String> {
    usage?.see_segments(&namespace?.everybody())
}

/// How the executor is confined.
struct ShimConfinement {
    in_force: InForce,
    namespace: Option<Namespace>,
    /// What its process closes around itself.
    barrier: Option<Barrier>,
    usage: Option<LimitWatch>,
    /// The proxy of a restricted network.
    outlet: Option<Outlet>,
}

/// What became of the wish for a namespace.
enum NamespaceEntry {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are none"))]
    Entered(Namespace),
    /// The system does not allow it, for this reason.
    Refused(String),
}

/// The namespace that this process is in now, and what it knows from before.
struct EnteredNamespace {
    in_force: NamespaceInForce,
    namespace: Option<Namespace>,
    /// The list of sockets, as [`sandbox::open_socket_list`] gives it.
    sockets: Option<File>,
    /// The directory from which a relative path counts. Entering a namespace leaves it behind.
    cwd: io::Result<PathBuf>,
}

impl EnteredNamespace {
    fn enter(wanted: Wanted) -> io::Result<Self> {
        let (sockets, cwd) = (sandbox::open_socket_list(), std::env::current_dir());
        let (in_force, namespace) = match wanted {
            Wanted::Off => (NamespaceInForce::Off, None),
            Wanted::On => match namespace::enter()? {
                NamespaceEntry::Entered(namespace) => (NamespaceInForce::On, Some(namespace)),
                NamespaceEntry::Refused(reason) => (NamespaceInForce::Refused(reason), None),
            },
        };
        if namespace.is_some() {
            // Nothing is left for this process to do when writ dies, so that it may even be stopped then.
            namespace::die_with_parent()?;
        }
        namespace::refuse_tracing();
        Ok(Self { in_force, namespace, sockets, cwd })
    }
}

/// Confines this process, and so what it will start, as far as the system allows.
fn confine(spec: &mut LaunchSpec) -> io::Result<ShimConfinement> {
    let sandbox = spec.confinement.sandbox.take();
    // While this process is where the network is, and may start processes there.
    let is_proxied = |sandbox: &&Sandbox| cfg!(target_os = "linux") && sandbox.reach() == Reach::Proxied;
    let proxied = sandbox.as_deref().filter(is_proxied);
    let outlet = proxied.map(|sandbox| Outlet::start(&sandbox.reachable)).transpose()?;
    let EnteredNamespace { in_force, namespace, sockets, cwd } =
        EnteredNamespace::enter(spec.confinement.namespace)?;
    if spec.cwd.is_relative() {
        spec.cwd = cwd?.join(&spec.cwd);
    }
    let mut confined = ShimConfinement {
        in_force: InForce { namespace: in_force, sandbox: None },
        namespace,
        barrier: None,
        usage: None,
        outlet: None,
    };
    if let Some(sandbox) = sandbox {
        let has_namespace = match &confined.in_force.namespace {
            NamespaceInForce::On => Ok(()),
            NamespaceInForce::Off => Err("the namespace is off".to_owned()),
            NamespaceInForce::Refused(reason) => Err(reason.clone()),
        };
        let laid = sandbox::lay_out(&sandbox, has_namespace, sandbox::bound_sockets(sockets));
        let (mut barrier, in_force) = laid.map_err(|missing| {
            confined.namespace.iter().for_each(Namespace::end);
            io::Error::other(format!("the sandbox lacks {missing}"))
        })?;
        match (&in_force.reachable, outlet) {
            (Some(reachable), Some((outlet, doors))) => {
                barrier.open(doors);
                reachable.put_into(&mut spec.env);
                confined.outlet = Some(outlet);
            }
            (_, unused) => drop(unused),
        }
        confined.usage =
            confined.namespace.as_ref().map(|_| LimitWatch::new(sandbox.limits, barrier.in_memory()));
        (confined.barrier, confined.in_force.sandbox) = (Some(barrier), Some(Box::new(in_force)));
    }
    Ok(confined)
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
    link: ShimLink,
    children: Children,
    executor: Executor,
    grace: Duration,
    /// What the executor's processes may use together.
    usage: Option<LimitWatch>,
    outlet: Option<Outlet>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShimPhase {
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
        let mut phase = ShimPhase::Running;
        loop {
            // Orders first: writ may have died while the launch was read, and then nothing would wake the wait.
            while phase != ShimPhase::Ending
                && let Some(order) = self.link.next_order()
            {
                phase = self.obey(phase, order);
            }
            let input = self.link.take_input();
            if !input.is_empty() {
                if !self.executor.add_input(&input) {
                    return;
                }
                self.executor.feed();
            }
            phase = self.outgrow(phase);
            if phase == ShimPhase::Ending {
                return;
            }
            self.wait(phase);
            if self.is_exceeded() {
                return;
            }
            self.tell_visits();
            self.children.look();
            self.tell_exit();
            self.executor.feed();
            self.executor.pump(&mut self.link);
            self.link.write_some();
        }
    }

    fn obey(&self, phase: ShimPhase, order: ShimOrder) -> ShimPhase {
        match (phase, order) {
            (_, ShimOrder::Kill) => ShimPhase::Ending,
            (ShimPhase::Running, ShimOrder::Stop) => {
                self.ask();
                ShimPhase::Asked { until: Instant::now() + self.grace }
            }
            // Asked once is asked; a second request does not give more time.
            (ShimPhase::Asked { .. } | ShimPhase::Ending, ShimOrder::Stop) => phase,
        }
    }

    /// The default next phase.
    fn outgrow(&self, phase: ShimPhase) -> ShimPhase {
        let has_exited = self.children.exit().is_some();
        match phase {
            ShimPhase::Running if has_exited => ShimPhase::Ending,
            ShimPhase::Asked { until } if Instant::now() >= until => ShimPhase::Ending,
            // Behind a wrapper that ends at once, the real agent may still be saving its session.
            ShimPhase::Asked { .. } if has_exited && !self.has_members() => ShimPhase::Ending,
            ShimPhase::Running | ShimPhase::Asked { .. } | ShimPhase::Ending => phase,
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

    fn tell_visits(&mut self) {
        for visit in self.outlet.iter_mut().flat_map(Outlet::news) {
            self.link.send(&FromShim::Visited(visit));
        }
    }

    fn end_outlet(&mut self) {
        for visit in self.outlet.iter_mut().flat_map(Outlet::finish) {
            self.link.send(&FromShim::Visited(visit));
        }
    }

    /// Tells writ if a limit was exceeded. Then everything is ended.
    fn is_exceeded(&mut self) -> bool {
        let Some(namespace) = self.children.namespace() else { return false };
        let Some(exceeded) = self.usage.as_mut().and_then(|usage| usage.look(|| namespace.everybody()))
        else {
            return false;
        };
        self.link.send(&FromShim::Exceeded(exceeded));
        true
    }

    /// Until something can be done, or the phase's time is over.
    fn wait(&mut self, phase: ShimPhase) {
        let timeout = match phase {
            ShimPhase::Running | ShimPhase::Ending => None,
            ShimPhase::Asked { .. } if self.children.exit().is_some() => Some(MEMBERS_LOOK_INTERVAL),
            ShimPhase::Asked { until } => Some(until.saturating_duration_since(Instant::now())),
        };
        let next_look = self.usage.as_ref().map(LimitWatch::wait);
        let timeout =
            timeout.map_or(next_look, |timeout| Some(next_look.map_or(timeout, |look| look.min(timeout))));
        let mut waits = vec![self.children.wait_for_change()];
        waits.extend(self.outlet.iter().filter_map(Outlet::wait));
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
