//! The only way out of a sandbox with a restricted network: a proxy in a process outside, in the network of the
//! machine. Its listening sockets belong to the network namespace of the executor, whose process made them.
//!
//! ```text
//! executor ── 127.0.0.1:3128 (inside) ── proxy ── the hosts of the allow-list (outside)
//! ```
//! One thread accepts, and there is one for each connection. They end with [`Proxy::finish`], and at the latest with
//! their process.

mod body;
mod head;
mod ledger;
mod reach;
mod relay;
mod serve;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use contract::domain::limits;
use contract::domain::network::{Destination, Host, HostRule, Visit};
use rustix::event::{PollFd, PollFlags};
use serde::{Deserialize, Serialize};

use self::ledger::ConnectionLedger;
use super::wait_for;

/// Where the proxy listens inside, unless a host of the allow-list needs this port. The namespace is new: all are free.
const PORT: u16 = 3128;
/// After an accept failed for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Programs read the one or the other spelling.
const VARIABLES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
const EXCEPTIONS: &[&str] = &["NO_PROXY", "no_proxy"];
/// These would lead to a proxy that cannot be reached from inside.
const REMOVED: &[&str] = &["ALL_PROXY", "all_proxy", "FTP_PROXY", "ftp_proxy"];
/// Lets node take the variables as other programs do.
const NODE_VARIABLE: &str = "NODE_USE_ENV_PROXY";

/// Why a host is denied that no rule names.
pub(crate) const NOT_LISTED: &str = "it is not in the allow-list";

/// What may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reachable {
    /// By the plan.
    pub allow: Vec<HostRule>,
    /// Where the model of the executor is.
    pub endpoints: Vec<HostRule>,
}

/// One listening socket inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListeningDoor {
    pub(super) at: SocketAddr,
    /// `None` for the proxy itself, else what is behind it.
    pub(super) to: Option<Destination>,
}

impl Reachable {
    fn rules(&self) -> Vec<HostRule> {
        self.allow.iter().chain(&self.endpoints).cloned().collect()
    }

    /// Where the proxy listens, and after it one door for each host of this machine, on its own port.
    pub(super) fn doors(&self) -> Vec<ListeningDoor> {
        let mut forwarded: Vec<ListeningDoor> = Vec::new();
        for to in self.allow.iter().chain(&self.endpoints).filter_map(HostRule::loopback) {
            let address = match &to.host {
                Host::Name(_) => Ipv4Addr::LOCALHOST.into(),
                Host::Address(address) => *address,
            };
            let at = SocketAddr::new(address, to.port);
            if forwarded.iter().all(|door| door.at != at) {
                forwarded.push(ListeningDoor { at, to: Some(to.clone()) });
            }
        }
        let is_free = |port: &u16| forwarded.iter().all(|door| door.at.port() != *port);
        let port = (PORT..=u16::MAX).find(is_free).unwrap_or(PORT);
        let own = ListeningDoor { at: (Ipv4Addr::LOCALHOST, port).into(), to: None };
        [own].into_iter().chain(forwarded).collect()
    }

    /// Leads programs to the proxy.
    pub(super) fn put_into(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let own = self.doors().first().map(|door| format!("http://{}", door.at)).unwrap_or_default();
        for name in REMOVED {
            environment.remove(&OsString::from(name));
        }
        environment.extend(VARIABLES.iter().map(|name| (name.into(), own.clone().into())));
        // What is on this machine has a door of its own.
        environment.extend(EXCEPTIONS.iter().map(|name| (name.into(), "localhost,127.0.0.1,::1".into())));
        environment.insert(NODE_VARIABLE.into(), "1".into());
    }
}

/// The addresses of a name.
type Resolve = fn(&str, u16) -> io::Result<Vec<IpAddr>>;

/// How long the proxy waits, and for how many.
#[derive(Debug, Clone, Copy)]
struct ProxyLimits {
    connections: usize,
    head: Duration,
    resolve: Duration,
    connect: Duration,
    idle: Duration,
}

const BOUNDS: ProxyLimits = ProxyLimits {
    connections: limits::PROXY_CONNECTIONS_MAX,
    head: limits::PROXY_HEAD_DEADLINE,
    resolve: limits::PROXY_RESOLVE_DEADLINE,
    connect: limits::PROXY_CONNECT_DEADLINE,
    idle: limits::PROXY_IDLE_DEADLINE,
};

/// What all threads of the proxy share.
struct Shared {
    rules: Vec<HostRule>,
    ledger: ConnectionLedger,
    /// Ends when the proxy is finished.
    stop: PipeReader,
    bounds: ProxyLimits,
    resolve: Resolve,
}

/// A running proxy.
pub(super) struct Proxy {
    shared: Arc<Shared>,
    /// Has something to read when the ledger has news.
    news: PipeReader,
    stop: Option<PipeWriter>,
}

impl Proxy {
    pub(super) fn start(reachable: &Reachable, doors: Vec<(ListeningDoor, TcpListener)>) -> io::Result<Self> {
        Self::start_with(reachable.rules(), doors, BOUNDS, reach::addresses)
    }

    fn start_with(
        rules: Vec<HostRule>,
        doors: Vec<(ListeningDoor, TcpListener)>,
        bounds: ProxyLimits,
        resolve: Resolve,
    ) -> io::Result<Self> {
        let (stop, stopper) = io::pipe()?;
        let (news, teller) = io::pipe()?;
        rustix::io::ioctl_fionbio(&news, true)?;
        rustix::io::ioctl_fionbio(&teller, true)?;
        for (_, listener) in &doors {
            listener.set_nonblocking(true)?;
        }
        let shared = Arc::new(Shared { rules, ledger: ConnectionLedger::new(teller), stop, bounds, resolve });
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("proxy".to_owned());
        thread.spawn(move || accept_all(&doors, &accepting))?;
        Ok(Self { shared, news, stop: Some(stopper) })
    }

    /// Tells when there is news.
    pub(super) fn wait(&self) -> PollFd<'_> {
        PollFd::new(&self.news, PollFlags::IN)
    }

    /// Destinations that were reached or denied for the first time.
    pub(super) fn news(&self) -> Vec<Visit> {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.news, &mut bytes).is_ok_and(|length| length > 0) {}
        self.shared.ledger.news()
    }

    /// Ends all connections. Returns everything that was reached and denied.
    pub(super) fn finish(&mut self) -> Vec<Visit> {
        self.stop = None;
        self.shared.ledger.all()
    }
}

fn accept_all(doors: &[(ListeningDoor, TcpListener)], shared: &Arc<Shared>) {
    let permits = Arc::new(());
    loop {
        let mut waits: Vec<PollFd<'_>> =
            doors.iter().map(|(_, listener)| PollFd::new(listener, PollFlags::IN)).collect();
        waits.push(PollFd::new(&shared.stop, PollFlags::IN));
        wait_for(&mut waits, None);
        let ready: Vec<bool> = waits.iter().map(|wait| !wait.revents().is_empty()).collect();
        if ready.last() == Some(&true) {
            return;
        }
        for ((door, listener), _) in doors.iter().zip(&ready).filter(|(_, is_ready)| **is_ready) {
            match listener.accept() {
                Ok((client, _)) => admit(client, door, shared, &permits),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Gone again, or too many descriptors are open; some will be closed.
                Err(_) => wait_for(&mut [PollFd::new(&shared.stop, PollFlags::IN)], Some(ACCEPT_PAUSE)),
            }
        }
    }
}

/// Serves a connection on a thread of its own, if there is room for one more.
fn admit(client: TcpStream, door: &ListeningDoor, shared: &Arc<Shared>, permits: &Arc<()>) {
    // Each connection, and each search for an address, holds one.
    if Arc::strong_count(permits) > shared.bounds.connections {
        return serve::refuse_for_now(&client);
    }
    let (door, shared, permit) = (door.clone(), Arc::clone(shared), Arc::clone(permits));
    let thread = std::thread::Builder::new().name("connection".to_owned());
    let spawned = thread.spawn(move || serve::serve(client, &door, &shared, &permit));
    // Without a thread the connection was dropped, and so closed.
    drop(spawned);
}

impl Shared {
    /// Waits until one of these is ready. False if the time is over or the proxy is finished.
    fn wait(&self, waits: Vec<PollFd<'_>>, patience: Duration) -> bool {
        let mut waits = waits;
        waits.push(PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN));
        let deadline = std::time::Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            wait_for(&mut waits, Some(left));
            if waits.last().is_some_and(|stop| !stop.revents().is_empty()) {
                return false;
            }
            if waits.iter().any(|wait| !wait.revents().is_empty()) {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }
}

/// Both loopback addresses, without a lookup.
fn own_addresses() -> Vec<IpAddr> {
    vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
}

#[cfg(test)]
mod tests;
