//! The shim's two pipes to writ. When either breaks, writ counts as dead.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::supervisor::frame::{self, FromShim, Incoming, LAUNCH_BYTES_MAX, OUTPUT_BYTES_MAX, ToShim};
use crate::supervisor::launch::LaunchSpec;
use crate::supervisor::wait_for;

/// What writ wants, or what follows from its death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShimOrder {
    Stop,
    Kill,
}

/// Frames that writ has not taken yet. Above this the executor's output is left in its pipes, so a slow
/// writ slows the executor down instead of filling memory.
const PENDING_BYTES_MAX: usize = 256 * 1024;

pub(super) struct ShimLink {
    control: BorrowedFd<'static>,
    frames: BorrowedFd<'static>,
    incoming: Incoming,
    /// Read and not yet acted on.
    orders: VecDeque<ToShim>,
    /// What the executor is to read, and was not taken yet.
    input: Vec<u8>,
    /// The control pipe has ended, or spoke nonsense.
    is_deaf: bool,
    /// The frame pipe has lost its reader.
    is_mute: bool,
    pending: Vec<u8>,
    sent: usize,
    scratch: Vec<u8>,
}

impl ShimLink {
    pub(super) fn open() -> io::Result<Self> {
        let (control, frames) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        rustix::io::ioctl_fionbio(control, true)?;
        rustix::io::ioctl_fionbio(frames, true)?;
        Ok(Self {
            control,
            frames,
            incoming: Incoming::new(LAUNCH_BYTES_MAX),
            orders: VecDeque::new(),
            input: Vec::new(),
            is_deaf: false,
            is_mute: false,
            pending: Vec::new(),
            sent: 0,
            scratch: vec![0; OUTPUT_BYTES_MAX],
        })
    }

    /// Waits for the launch. Nothing, if writ went away or changed its mind before anything was started, or if its
    /// time is over.
    pub(super) fn receive_launch(&mut self) -> io::Result<Option<LaunchSpec>> {
        loop {
            self.read_control();
            match self.orders.pop_front() {
                Some(ToShim::Launch(_)) if self.is_deaf => return Ok(None),
                Some(ToShim::Launch(spec)) => return Ok(Some(*spec)),
                Some(ToShim::Stop | ToShim::Kill | ToShim::Input(_)) => return Ok(None),
                None if self.is_deaf => return Ok(None),
                None => wait_for(&mut [PollFd::new(&self.control, PollFlags::IN)], None),
            }
        }
    }

    /// The next thing to do for writ. Its death is an order to kill, every time it is asked.
    pub(super) fn next_order(&mut self) -> Option<ShimOrder> {
        self.read_control();
        if self.is_mute || self.is_deaf {
            return Some(ShimOrder::Kill);
        }
        loop {
            match self.orders.pop_front()? {
                ToShim::Stop => return Some(ShimOrder::Stop),
                // A second launch is as wrong as nonsense: end what there is.
                ToShim::Kill | ToShim::Launch(_) => return Some(ShimOrder::Kill),
                ToShim::Input(bytes) => self.input.extend(bytes),
            }
        }
    }

    /// What came for the executor's input since the last call.
    pub(super) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    pub(super) fn send(&mut self, message: &FromShim) {
        if !self.is_mute {
            message.encode_into(&mut self.pending);
            self.write_some();
        }
    }

    /// Moves one piece of output from `source` into a frame. Gives its length: 0 at the end of `source`.
    pub(super) fn forward(&mut self, kind: u8, source: BorrowedFd<'_>) -> Result<usize, Errno> {
        let length = rustix::io::read(source, &mut self.scratch[..])?;
        if length > 0 && !self.is_mute {
            frame::append(&mut self.pending, kind, &self.scratch[..length]);
        }
        Ok(length)
    }

    pub(super) fn has_room(&self) -> bool {
        self.pending.len() - self.sent < PENDING_BYTES_MAX
    }

    /// Whether writing on makes no sense.
    pub(super) fn is_mute(&self) -> bool {
        self.is_mute
    }

    /// Writes what the pipe takes now.
    pub(super) fn write_some(&mut self) {
        while self.sent < self.pending.len() && !self.is_mute {
            match rustix::io::write(self.frames, &self.pending[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.give_up(),
            }
        }
        // Copied down only when little is left to copy, so that a flood costs one copy, not many.
        if self.sent == self.pending.len() {
            self.pending.clear();
            self.sent = 0;
        } else if self.sent >= PENDING_BYTES_MAX {
            self.pending.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Waits until writ has taken enough that there is room again, or is gone.
    pub(super) fn make_room(&mut self) {
        while !self.has_room() && !self.is_mute {
            self.wait_for_reader();
        }
    }

    /// Waits until writ has taken everything, or is gone. However long it takes: by now nothing else is alive.
    pub(super) fn flush(&mut self) {
        self.write_some();
        while self.sent < self.pending.len() && !self.is_mute {
            self.wait_for_reader();
        }
    }

    pub(super) fn give_up(&mut self) {
        self.is_mute = true;
        self.pending.clear();
        self.sent = 0;
    }

    pub(super) fn waits(&self) -> impl Iterator<Item = PollFd<'_>> {
        let control = (!self.is_deaf).then(|| PollFd::new(&self.control, PollFlags::IN));
        let interest = if self.pending.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        // Without interest in writing, the poll still tells when the reader is gone.
        let frames = (!self.is_mute).then(|| PollFd::new(&self.frames, interest));
        control.into_iter().chain(frames)
    }

    fn wait_for_reader(&mut self) {
        wait_for(&mut [PollFd::new(&self.frames, PollFlags::OUT)], None);
        self.write_some();
    }

    fn read_control(&mut self) {
        let mut buffer = [0; 16 * 1024];
        while !self.is_deaf {
            match rustix::io::read(self.control, &mut buffer) {
                Ok(0) => self.is_deaf = true,
                Ok(length) => self.take_in(&buffer[..length]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.is_deaf = true,
            }
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.incoming.push(bytes);
        loop {
            match self.incoming.next_frame().and_then(|frame| frame.map(ToShim::decode).transpose()) {
                Ok(Some(order)) => self.orders.push_back(order),
                Ok(None) => return,
                Err(_) => {
                    self.is_deaf = true;
                    return;
                }
            }
        }
    }
}
