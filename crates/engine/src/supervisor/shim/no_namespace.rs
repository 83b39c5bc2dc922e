//! Systems without pid namespaces.

use std::convert::Infallible;
use std::io;

use super::NamespaceEntry;
use crate::supervisor::process_table::Process;

/// There is none.
pub(super) struct Namespace {
    never: Infallible,
}

pub(super) fn enter() -> io::Result<NamespaceEntry> {
    Ok(NamespaceEntry::Refused("this system has no pid namespaces".to_owned()))
}

pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(())
}

pub(super) fn refuse_tracing() {}

impl Namespace {
    pub(super) fn kill(&self) {
        match self.never {}
    }

    pub(super) fn end(&self) {
        match self.never {}
    }

    pub(super) fn members(&self) -> Vec<Process> {
        match self.never {}
    }

    pub(super) fn everybody(&self) -> Vec<Process> {
        match self.never {}
    }

    pub(super) fn has_group_members(&self) -> bool {
        match self.never {}
    }
}
