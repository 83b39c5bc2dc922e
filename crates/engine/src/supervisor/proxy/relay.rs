//! Passes bytes between a client and a server until one of them is done.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::Shared;
use super::body::RequestBody;
use super::ledger::Entry;

const BUFFER_BYTES: usize = 32 * 1024;
/// How much of a client is read, and for how long, after the last answer: closing at once could take the answer back.
const LINGER_BYTES_MAX: usize = 1024 * 1024;
const LINGER: Duration = Duration::from_secs(2);

/// What a client may still send.
pub(super) enum Sends {
    Anything,
    Body(RequestBody),
}

/// Bytes on their way in one direction.
struct Way {
    bytes: Vec<u8>,
    written: usize,
    /// Nothing more is read.
    is_closed: bool,
}

impl Way {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, written: 0, is_closed: false }
    }

    fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    fn wants_to_read(&self) -> bool {
        self.is_empty() && !self.is_closed
    }

    /// Writes what can be written now. True if something was.
    fn write(&mut self, mut target: &TcpStream) -> io::Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        match target.write(&self.bytes[self.written..]) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => {
                self.written += length;
                Ok(true)
            }
            Err(error) if is_not_now(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads what is there. True if something was.
    fn read(&mut self, mut source: &TcpStream) -> io::Result<bool> {
        self.bytes.resize(BUFFER_BYTES, 0);
        self.written = 0;
        let read = source.read(&mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => {
                self.is_closed = true;
                Ok(true)
            }
            Ok(_) => Ok(true),
            Err(error) if is_not_now(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Passes bytes on until the server has sent its last. `begun` goes to the server first. Neither socket blocks.
pub(super) fn relay(
    shared: &Shared,
    (client, server): (&TcpStream, &TcpStream),
    (mut sends, begun): (Sends, Vec<u8>),
    entry: Entry,
) -> io::Result<()> {
    shared.ledger.count(entry, begun.len(), 0);
    let (mut up, mut down) = (Way::new(begun), Way::new(Vec::new()));
    up.is_closed = is_complete(&sends);
    let mut has_told_end = false;
    let mut deadline = Instant::now() + shared.bounds.idle;
    loop {
        let mut moved = up.write(server)? | down.write(client)?;
        if up.wants_to_read() && up.read(client)? {
            moved = true;
            limit(&mut up, &mut sends)?;
            shared.ledger.count(entry, up.bytes.len(), 0);
        }
        if down.wants_to_read() && down.read(server)? {
            moved = true;
            shared.ledger.count(entry, 0, down.bytes.len());
        }
        if down.is_closed && down.is_empty() {
            return Ok(());
        }
        // The end of one request is not the end of the connection: a server could take it for a client that left.
        if up.is_closed && up.is_empty() && !has_told_end && matches!(sends, Sends::Anything) {
            server.shutdown(Shutdown::Write)?;
            has_told_end = true;
        }
        if moved {
            deadline = Instant::now() + shared.bounds.idle;
            continue;
        }
        let waits = waits((client, server), &up, &down);
        if !shared.wait(waits, deadline.saturating_duration_since(Instant::now())) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

fn waits<'s>((client, server): (&'s TcpStream, &'s TcpStream), up: &Way, down: &Way) -> Vec<PollFd<'s>> {
    let interest = |reads: &Way, writes: &Way| {
        let read = if reads.wants_to_read() { PollFlags::IN } else { PollFlags::empty() };
        let write = if writes.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        read | write
    };
    let of = |stream: &'s TcpStream, interest: PollFlags| {
        // Without interest, a poll would still tell again and again that a side is closed.
        (!interest.is_empty()).then(|| PollFd::from_borrowed_fd(stream.as_fd(), interest))
    };
    [of(client, interest(up, down)), of(server, interest(down, up))].into_iter().flatten().collect()
}

/// Cuts off what does not belong to the request. Nothing is read after it.
fn limit(up: &mut Way, sends: &mut Sends) -> io::Result<()> {
    if let Sends::Body(body) = sends {
        if up.is_closed {
            // The client left in the middle of its request.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let taken = body.take(&up.bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        up.bytes.truncate(taken);
    }
    up.is_closed |= is_complete(sends);
    Ok(())
}

fn is_complete(sends: &Sends) -> bool {
    match sends {
        Sends::Anything => false,
        Sends::Body(body) => body.is_done(),
    }
}

/// Closes a connection so that its client can read the answer.
pub(super) fn close(shared: &Shared, client: &TcpStream) {
    // It may be closed already.
    client.shutdown(Shutdown::Write).ok();
    client.set_nonblocking(true).ok();
    let (mut buffer, mut left) = ([0; 4096], LINGER_BYTES_MAX);
    let deadline = Instant::now() + LINGER;
    let mut reader = client;
    while left > 0 {
        match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => left = left.saturating_sub(length),
            Err(error) if is_not_now(&error) => {
                let waits = vec![PollFd::from_borrowed_fd(client.as_fd(), PollFlags::IN)];
                if !shared.wait(waits, deadline.saturating_duration_since(Instant::now())) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
