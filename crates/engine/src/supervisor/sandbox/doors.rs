//! Listening sockets of a new network, made inside and handed out to the proxy, which stays outside.

#![expect(unsafe_code, reason = "turning an interface on has no safe form")]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType, recvmsg, sendmsg,
};

use crate::supervisor::proxy::ListeningDoor;

/// Descriptors in one message.
const BATCH: usize = 32;

/// What the executor's process opens.
pub(in crate::supervisor) struct ProxyDoors {
    addresses: Vec<SocketAddr>,
    sender: UnixStream,
}

/// Where the proxy gets the sockets.
pub(in crate::supervisor) struct SocketReceiver {
    socket: UnixStream,
    count: usize,
}

/// Both ends, before the executor's process begins.
pub(in crate::supervisor) fn pair(doors: &[ListeningDoor]) -> io::Result<(ProxyDoors, SocketReceiver)> {
    let (sender, socket) = UnixStream::pair()?;
    let addresses: Vec<SocketAddr> = doors.iter().map(|door| door.at).collect();
    let count = addresses.len();
    Ok((ProxyDoors { addresses, sender }, SocketReceiver { socket, count }))
}

impl ProxyDoors {
    /// Listens in the network of this process, and hands the sockets out.
    pub(super) fn open(&self) -> io::Result<()> {
        turn_on_loopback()?;
        let listeners: io::Result<Vec<TcpListener>> = self.addresses.iter().map(TcpListener::bind).collect();
        let listeners = listeners?;
        for batch in listeners.chunks(BATCH) {
            let descriptors: Vec<BorrowedFd<'_>> = batch.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            sendmsg(&self.sender, &[IoSlice::new(b"d")], &mut control, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }
}

impl From<SocketReceiver> for OwnedFd {
    fn from(receiver: SocketReceiver) -> Self {
        receiver.socket.into()
    }
}

impl SocketReceiver {
    /// The same after its socket went through other hands.
    pub(in crate::supervisor) fn from_socket(socket: OwnedFd, count: usize) -> Self {
        Self { socket: socket.into(), count }
    }

    /// The sockets, in the order of their doors. Waits until they arrive or the sender is gone.
    pub(in crate::supervisor) fn receive(self) -> io::Result<Vec<TcpListener>> {
        let mut received: Vec<OwnedFd> = Vec::new();
        while received.len() < self.count {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let message = recvmsg(&self.socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
            if message.bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    received.extend(descriptors);
                }
            }
        }
        Ok(received.into_iter().map(TcpListener::from).collect())
    }
}

/// In a new network even this one is off.
fn turn_on_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = (*byte).cast_signed();
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
    // SAFETY: the kernel reads `request`, which outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
