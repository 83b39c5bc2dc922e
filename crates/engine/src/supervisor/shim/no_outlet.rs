//! Systems on which no network can be restricted.

use std::convert::Infallible;
use std::io;

use contract::domain::network::Visit;
use rustix::event::PollFd;

use crate::supervisor::proxy::Reachable;
use crate::supervisor::sandbox::ProxyDoors;

/// There is none.
pub(super) struct Outlet {
    never: Infallible,
}

impl Outlet {
    pub(super) fn start(_: &Reachable) -> io::Result<(Self, ProxyDoors)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn wait(&self) -> Option<PollFd<'_>> {
        match self.never {}
    }

    pub(super) fn news(&mut self) -> Vec<Visit> {
        match self.never {}
    }

    pub(super) fn finish(&mut self) -> Vec<Visit> {
        match self.never {}
    }
}
