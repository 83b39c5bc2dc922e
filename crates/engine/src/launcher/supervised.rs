//! The real launcher: every child runs under a shim.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use contract::domain::confinement::NetworkUse;
use contract::domain::id::Id;
use contract::domain::process::{Remains, StoreFile};
use contract::domain::run::Owner;
use ops::run::Liveness;

use super::{Children, Launcher, RunError, confinement_here};
use crate::supervisor::{
    self, ChildReport, Handle, LaunchSpec, Marker, OwnerIdentity, Sandbox, SandboxInForce, ShimProgram,
    StartError, Supervisor,
};

/// Reports that wait for their reader. When it is behind, children wait for it instead of filling memory.
/// One of output has up to 64 KiB.
const REPORTS_MAX: usize = 16;

/// Shims that may still be ending while the work goes on.
const ENDED_MAX: usize = 8;

/// Groups of children that are not dropped yet.
static GROUPS: AtomicUsize = AtomicUsize::new(0);

/// Monotonic times are counted from here.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Launcher for ShimProgram {
    fn work_for(&self, store: &StoreFile) {
        self.store.get_or_init(|| store.clone());
    }

    fn store(&self) -> Option<&StoreFile> {
        self.store.get()
    }

    fn identity(&self) -> OwnerIdentity {
        OwnerIdentity { store: self.store().cloned(), ..supervisor::own_identity() }
    }

    fn owner(&self) -> Owner {
        Owner { store: self.store().cloned(), ..crate::drive::identity() }
    }

    fn probe(&self, owner: &Owner) -> Liveness {
        if self.is_of_another_store(owner) { Liveness::Dead } else { crate::drive::probe(owner) }
    }

    fn settle(&self, engine: &Owner) -> Remains {
        if self.is_of_another_store(engine) { Remains::Gone } else { supervisor::settle(engine) }
    }

    fn look_at(&self, engine: &Owner) -> Remains {
        if self.is_of_another_store(engine) { Remains::Gone } else { supervisor::look_at(engine) }
    }

    fn pid_here(&self, engine: &Owner) -> Option<u32> {
        if self.is_of_another_store(engine) { None } else { supervisor::pid_here(engine) }
    }

    fn end_engine(&self, engine: &Owner) -> Remains {
        if self.is_of_another_store(engine) { Remains::Gone } else { supervisor::end_engine(engine) }
    }

    fn paused_ms(&self) -> i64 {
        i64::try_from(supervisor::paused().as_millis()).unwrap_or(i64::MAX)
    }

    fn end_leftovers(&self) {
        supervisor::reap_leftovers(|marker| marker.owner.may_work_for(self.store()));
    }

    fn monotonic_ms(&self) -> i64 {
        let paused = supervisor::paused();
        i64::try_from(BEGINNING.elapsed().saturating_sub(paused).as_millis()).unwrap_or(i64::MAX)
    }

    fn pause(&self, length: Duration) {
        std::thread::park_timeout(length);
    }

    fn sandbox_lacks(&self) -> Option<String> {
        static LACKS: OnceLock<Option<String>> = OnceLock::new();
        let lacks = LACKS.get_or_init(|| match sandbox_here(self) {
            Ok(in_force) => {
                Some(in_force.missing()).filter(|list| !list.is_empty()).map(|list| list.join("; "))
            }
            Err(error) => Some(format!("a sandbox could not be tried: {error}")),
        });
        lacks.clone()
    }

    fn children(&self) -> Box<dyn Children> {
        let (sender, reports) = mpsc::sync_channel(REPORTS_MAX);
        GROUPS.fetch_add(1, Ordering::SeqCst);
        Box::new(Supervised {
            shim: self.clone(),
            handles: BTreeMap::new(),
            ended: Vec::new(),
            sender,
            reports,
        })
    }
}

impl ShimProgram {
    /// Whether a record names an engine of another store: this one is a copy of its file.
    fn is_of_another_store(&self, engine: &Owner) -> bool {
        engine.store.is_some() && self.store().is_some_and(|own| engine.store.as_ref() != Some(own))
    }
}

/// What of a sandbox is in force here, found out with a program that does nothing and ends.
pub fn sandbox_here(shim: &ShimProgram) -> Result<SandboxInForce, RunError> {
    let marker = Marker { attempt: Id::from_bits(0), owner: supervisor::own_identity() };
    let argv = vec![shim.program.clone().into_os_string(), "--version".into()];
    let mut spec = LaunchSpec::new(argv, "/".into(), marker);
    let keeps = shim.program.parent().map(|directory| directory.as_os_str().to_owned());
    let sandbox = Sandbox {
        writes: Some(Vec::new()),
        keeps: keeps.into_iter().filter(|directory| directory != "/").collect(),
        network: NetworkUse::None,
        ..Sandbox::default()
    };
    spec.confinement.sandbox = Some(Box::new(sandbox));
    let in_force = confinement_here(shim, spec)?;
    let unknown = || SandboxInForce::refused("the supervising process knows none");
    Ok(in_force.sandbox.map_or_else(unknown, |sandbox| *sandbox))
}

struct Supervised {
    shim: ShimProgram,
    handles: BTreeMap<u64, Handle>,
    /// Children after their last report. Their shims are about to end.
    ended: Vec<Handle>,
    sender: SyncSender<(u64, ChildReport)>,
    reports: Receiver<(u64, ChildReport)>,
}

impl Supervised {
    fn note_end(&mut self, number: u64, report: &ChildReport) {
        if report.is_last() {
            self.ended.extend(self.handles.remove(&number));
            self.join_ended();
        }
    }

    /// Joins those that are through, and all if there are too many.
    fn join_ended(&mut self) {
        let is_crowded = self.ended.len() > ENDED_MAX;
        let through = self.ended.extract_if(.., |handle| is_crowded || handle.is_finished());
        through.for_each(Handle::join);
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.ended.drain(..).for_each(Handle::join);
        if GROUPS.fetch_sub(1, Ordering::SeqCst) == 1 {
            supervisor::end_template();
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

    fn next(&mut self, patience: Duration) -> Option<(u64, ChildReport)> {
        let (number, report) = self.reports.recv_timeout(patience).ok()?;
        self.note_end(number, &report);
        Some((number, report))
    }

    fn write(&self, number: u64, bytes: &[u8]) {
        if let Some(handle) = self.handles.get(&number) {
            handle.write(bytes);
        }
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
