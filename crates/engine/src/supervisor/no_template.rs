//! Systems on which no process can be copied into another place of the tree: every shim is started as a program.

use std::time::Duration;

use super::ShimProgram;
use super::mark::Marker;
use super::shim_process::ShimProcess;

pub(super) fn copy(_shim: &ShimProgram, _marker: &Marker) -> Option<ShimProcess> {
    None
}

pub(super) const SPARE_PATIENCE: Duration = Duration::ZERO;

pub(super) fn spare(_shim: &ShimProgram, _marker: &Marker) -> Option<ShimProcess> {
    None
}

pub(super) fn order_spare(_shim: &ShimProgram, _marker: &Marker) {}

pub(super) fn spare_failed() {}

pub(super) fn outdate_spares() {}

pub(super) fn end_spare() {}

pub(super) fn end() {}
