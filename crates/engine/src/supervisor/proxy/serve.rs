//! One connection of a client inside: its request, the decision, and what follows.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use contract::domain::limits::PROXY_HEAD_BYTES_MAX;
use contract::domain::network::{Destination, Verdict, permits};
use rustix::event::{PollFd, PollFlags};

use super::head::{self, HeadFault, Request};
use super::reach;
use super::relay::{self, Sends};
use super::{ListeningDoor, NOT_LISTED, Shared};

const TUNNEL: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves a client to its end.
pub(super) fn serve(client: TcpStream, door: &ListeningDoor, shared: &Shared, permit: &Arc<()>) {
    if client.set_nonblocking(true).is_err() {
        return;
    }
    match &door.to {
        Some(to) => forward(&client, to, shared, permit),
        None => answer(&client, shared, permit),
    }
    relay::close(shared, &client);
}

/// For one connection too many.
pub(super) fn refuse_for_now(client: &TcpStream) {
    client.set_nonblocking(true).ok();
    say(client, "503 Service Unavailable", "this task has too many connections open");
}

/// A door to one host of the machine.
fn forward(client: &TcpStream, to: &Destination, shared: &Shared, permit: &Arc<()>) {
    match reach::connect(shared, to, permit) {
        Ok(server) => pass_on(shared, (client, &server), to, (Sends::Anything, Vec::new())),
        Err(no_way) => {
            let (verdict, why) = no_way.told();
            shared.ledger.note(&to.to_string(), verdict, Some(why));
        }
    }
}

/// The proxy itself.
fn answer(client: &TcpStream, shared: &Shared, permit: &Arc<()>) {
    let (request, rest) = match read_request(client, shared) {
        Ok(read) => read,
        Err(ProxyRefusal::Malformed(why)) => return say(client, "400 Bad Request", why),
        Err(ProxyRefusal::TooLarge) => {
            return say(client, "431 Request Header Fields Too Large", "the head of the request is too long");
        }
        Err(ProxyRefusal::OtherHost { asked, named }) => {
            let why = format!("the Host header of a request to `{asked}` names it");
            let told = format!("the request is for `{asked}`, but its Host header names `{named}`");
            return refuse(client, shared, &named, (Verdict::Denied, why), &told);
        }
        Err(ProxyRefusal::Gone) => return,
    };
    let to = request.to().clone();
    if !permits(&shared.rules, &to) {
        let told = format!("`{to}` is not in the network allow-list of this task");
        return refuse(client, shared, &to, (Verdict::Denied, NOT_LISTED.to_owned()), &told);
    }
    let server = match reach::connect(shared, &to, permit) {
        Ok(server) => server,
        Err(no_way) => {
            let (verdict, why) = no_way.told();
            let told = format!("`{to}` cannot be reached: {why}");
            return refuse(client, shared, &to, (verdict, why), &told);
        }
    };
    match request {
        Request::Tunnel(_) => {
            if write_now(client, TUNNEL).is_ok() {
                pass_on(shared, (client, &server), &to, (Sends::Anything, rest));
            }
        }
        Request::Plain { head, mut body, .. } => {
            let Ok(taken) = body.take(&rest) else {
                return say(client, "400 Bad Request", "the body of the request is malformed");
            };
            let begun = [head, rest[..taken].to_vec()].concat();
            pass_on(shared, (client, &server), &to, (Sends::Body(body), begun));
        }
    }
}

/// Why a request is not looked at further.
enum ProxyRefusal {
    Malformed(&'static str),
    TooLarge,
    OtherHost {
        asked: Destination,
        named: Destination,
    },
    /// The client left, or the time is over.
    Gone,
}

/// The request, and what came behind its head.
fn read_request(mut client: &TcpStream, shared: &Shared) -> Result<(Request, Vec<u8>), ProxyRefusal> {
    let deadline = Instant::now() + shared.bounds.head;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let waits = vec![PollFd::from_borrowed_fd(client.as_fd(), PollFlags::IN)];
        if left.is_zero() || !shared.wait(waits, left) {
            return Err(ProxyRefusal::Gone);
        }
        match client.read(&mut buffer) {
            Ok(0) => return Err(ProxyRefusal::Gone),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => return Err(ProxyRefusal::Gone),
        }
        match head::parse(&bytes) {
            Ok(Some((request, length))) => return Ok((request, bytes.split_off(length))),
            Ok(None) if bytes.len() >= PROXY_HEAD_BYTES_MAX => return Err(ProxyRefusal::TooLarge),
            Ok(None) => {}
            Err(HeadFault::Malformed(why)) => return Err(ProxyRefusal::Malformed(why)),
            Err(HeadFault::OtherHost { asked, named }) => {
                return Err(ProxyRefusal::OtherHost { asked, named });
            }
        }
    }
}

fn pass_on(
    shared: &Shared,
    (client, server): (&TcpStream, &TcpStream),
    to: &Destination,
    request: (Sends, Vec<u8>),
) {
    let entry = shared.ledger.note(&to.to_string(), Verdict::Allowed, None);
    if server.set_nonblocking(true).is_ok() {
        // Send small pieces at once, for interactive streams.
        server.set_nodelay(true).ok();
        client.set_nodelay(true).ok();
        // A connection that breaks has ended, as any other.
        relay::relay(shared, (client, server), request, entry).ok();
    }
}

/// Counts first: a client that reads the answer finds it counted.
fn refuse(
    client: &TcpStream,
    shared: &Shared,
    to: &Destination,
    (verdict, why): (Verdict, String),
    told: &str,
) {
    shared.ledger.note(&to.to_string(), verdict, Some(why));
    let status = match verdict {
        Verdict::Allowed | Verdict::Denied => "403 Forbidden",
        Verdict::Failed => "502 Bad Gateway",
    };
    say(client, status, told);
}

/// Answers in the proxy's own name.
fn say(client: &TcpStream, status: &str, text: &str) {
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}\n"
    );
    // A client that does not read its answer misses it.
    write_now(client, answer.as_bytes()).ok();
}

/// An answer is short: the buffer of a new connection takes it.
fn write_now(mut client: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    client.write_all(bytes)
}
