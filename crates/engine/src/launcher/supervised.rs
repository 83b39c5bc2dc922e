//! The real launcher: every child runs under a shim.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use contract::domain::process::Remains;
use contract::domain::run::Owner;
use ops::run::Liveness;

use super::{Children, Launcher};
use crate::supervisor::{
    self, Handle, LaunchSpec, OwnerIdentity, Report, ShimProgram, StartError, Supervisor,
};

/// Reports that wait for their reader. When it is behind, children wait for it instead of filling memory.
/// One of output has up to 64 KiB.
const REPORTS_MAX: usize = 16;

/// Monotonic times are counted from here.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Launcher for ShimProgram {
    fn identity(&self) -> OwnerIdentity {
        supervisor::own_identity()
    }

    fn owner(&self) -> Owner {
        crate::drive::identity()
    }

    fn probe(&self, owner: &Owner) -> Liveness {
        crate::drive::probe(owner)
    }

    fn settle(&self, engine: &Owner) -> Remains {
        supervisor::settle(engine)
    }

    fn look_at(&self, engine: &Owner) -> Remains {
        supervisor::look_at(engine)
    }

    fn pid_here(&self, engine: &Owner) -> Option<u32> {
        supervisor::pid_here(engine)
    }

    fn end_engine(&self, engine: &Owner) -> Remains {
        supervisor::end_engine(engine)
    }

    fn paused_ms(&self) -> i64 {
        i64::try_from(supervisor::paused().as_millis()).unwrap_or(i64::MAX)
    }

    fn end_leftovers(&self) {
        supervisor::reap_leftovers(|_| true);
    }

    fn monotonic_ms(&self) -> i64 {
        let paused = supervisor::paused();
        i64::try_from(BEGINNING.elapsed().saturating_sub(paused).as_millis()).unwrap_or(i64::MAX)
    }

    fn pause(&self, length: Duration) {
        std::thread::park_timeout(length);
    }

    fn children(&self) -> Box<dyn Children> {
        let (sender, reports) = mpsc::sync_channel(REPORTS_MAX);
        Box::new(Supervised { shim: self.clone(), handles: BTreeMap::new(), sender, reports })
    }
}

struct Supervised {
    shim: ShimProgram,
    handles: BTreeMap<u64, Handle>,
    sender: SyncSender<(u64, Report)>,
    reports: Receiver<(u64, Report)>,
}

impl Supervised {
    fn note_end(&mut self, number: u64, report: &Report) {
        if report.is_last() {
            self.handles.remove(&number).into_iter().for_each(Handle::join);
        }
    }
}

impl Children for Supervised {
    fn start(&mut self, number: u64, spec: LaunchSpec) -> Result<(), StartError> {
        let sender = self.sender.clone();
        let sink = move |report| {
            // If the receiver is gone, so is everybody who wants to know.
            sender.send((number, report)).ok();
        };
        let handle = Supervisor::start(&self.shim, spec, sink)?;
        self.handles.insert(number, handle);
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Option<(u64, Report)> {
        let (number, report) = self.reports.recv_timeout(patience).ok()?;
        self.note_end(number, &report);
        Some((number, report))
    }

    fn stop(&self, number: u64) {
        self.handles.get(&number).into_iter().for_each(Handle::stop);
    }

    fn kill(&self, number: u64) {
        self.handles.get(&number).into_iter().for_each(Handle::kill);
    }

    fn end_all(&mut self) {
        self.handles.values().for_each(Handle::kill);
        // Each reader gives up on a shim that does not end, so a last report always comes.
        while !self.handles.is_empty()
            && let Ok((number, report)) = self.reports.recv()
        {
            self.note_end(number, &report);
        }
    }
}
