//! Connecting to a destination: its addresses, whether they may be reached, and a connection within a deadline.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use contract::domain::network::{Destination, Host, Verdict, permits_address};

use super::{Shared, own_addresses};

/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 16;

/// Why there is no connection.
pub(super) enum NoWay {
    /// The name leads where the allow-list does not.
    Denied(String),
    Failed(String),
}

impl NoWay {
    /// The verdict and the reason.
    pub(super) fn told(self) -> (Verdict, String) {
        match self {
            NoWay::Denied(why) => (Verdict::Denied, why),
            NoWay::Failed(why) => (Verdict::Failed, why),
        }
    }
}

/// A connection to an allowed destination.
pub(super) fn connect(shared: &Shared, to: &Destination, permit: &Arc<()>) -> Result<TcpStream, NoWay> {
    let found = find(shared, to, permit).map_err(|error| NoWay::Failed(format!("no address: {error}")))?;
    let may = |address: &&IpAddr| permits_address(&shared.rules, **address, to.port);
    let permitted: Vec<IpAddr> = found.iter().filter(may).copied().collect();
    if permitted.is_empty() {
        return Err(match found.first() {
            Some(first) => NoWay::Denied(format!(
                "it leads to {first}, which is not a public address and not in the allow-list"
            )),
            None => NoWay::Failed("no address".to_owned()),
        });
    }
    let deadline = Instant::now() + shared.bounds.connect;
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for address in permitted.into_iter().take(ADDRESSES_MAX) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&SocketAddr::new(address, to.port), left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(NoWay::Failed(format!("could not connect: {last}")))
}

fn find(shared: &Shared, to: &Destination, permit: &Arc<()>) -> io::Result<Vec<IpAddr>> {
    let name = match &to.host {
        Host::Address(address) => return Ok(vec![*address]),
        Host::Name(_) if to.host.is_loopback() => return Ok(own_addresses()),
        Host::Name(name) => name.clone(),
    };
    // The system's search has no deadline, so it gets a thread; while it lasts, it counts as a connection.
    let (sender, receiver) = mpsc::sync_channel(1);
    let (resolve, port, permit) = (shared.resolve, to.port, Arc::clone(permit));
    let search = move || {
        // If this fails, the receiver is gone.
        sender.send(resolve(&name, port)).ok();
        drop(permit);
    };
    std::thread::Builder::new().name("addresses".to_owned()).spawn(search)?;
    receiver.recv_timeout(shared.bounds.resolve).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// As the system finds them.
pub(super) fn addresses(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    Ok((name, port).to_socket_addrs()?.map(|found| found.ip()).collect())
}
