//! The launcher of a simulated engine: children from the world, and time that passes only while the engine waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::domain::run::Owner;
use engine::launcher::{Children, Launcher};
use engine::supervisor::{LaunchSpec, OwnerIdentity, Report, StartError};
use ops::run::Liveness;

use super::seams::Fuse;
use super::world::{Happening, World};

pub(super) const BOOT: &str = "simulated";

#[derive(Clone)]
pub(super) struct SimulatedLauncher {
    pub(super) engine: u32,
    pub(super) fuse: Fuse,
    pub(super) world: Arc<Mutex<World>>,
}

impl SimulatedLauncher {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Launcher for SimulatedLauncher {
    fn identity(&self) -> OwnerIdentity {
        OwnerIdentity { pid: self.engine, start_time: 1, boot_id: BOOT.to_owned() }
    }

    fn owner(&self) -> Owner {
        Owner { pid: self.engine, start_time: 1, boot_id: BOOT.to_owned() }
    }

    fn probe(&self, owner: &Owner) -> Liveness {
        self.world().probe(owner)
    }

    fn end_leftovers(&self) {
        self.fuse.touch();
        self.world().end_leftovers(self.engine);
        self.fuse.touch();
    }

    fn monotonic_ms(&self) -> i64 {
        self.world().monotonic_ms()
    }

    fn pause(&self, length: Duration) {
        self.fuse.touch();
        self.world().pass(length);
        self.world().disturb();
        self.fuse.touch();
    }

    fn children(&self) -> Box<dyn Children> {
        let group = self.world().new_group();
        Box::new(SimulatedChildren { launcher: self.clone(), group })
    }
}

struct SimulatedChildren {
    launcher: SimulatedLauncher,
    group: u64,
}

impl Children for SimulatedChildren {
    fn start(&mut self, number: u64, spec: LaunchSpec) -> Result<(), StartError> {
        self.launcher.fuse.touch();
        let started = self.launcher.world().start(self.launcher.engine, (self.group, number), &spec);
        self.launcher.fuse.touch();
        if started { Ok(()) } else { Err(StartError::NoProgram) }
    }

    fn next(&mut self, patience: Duration) -> Option<(u64, Report)> {
        self.launcher.fuse.touch();
        self.launcher.world().disturb();
        let happening = self.launcher.world().next(self.group, patience);
        self.launcher.fuse.touch();
        match happening {
            Happening::Report(number, report) => Some((number, report)),
            Happening::Nothing => None,
        }
    }

    fn stop(&self, number: u64) {
        self.launcher.fuse.touch();
        self.launcher.world().stop((self.group, number));
    }

    fn kill(&self, number: u64) {
        self.launcher.fuse.touch();
        self.launcher.world().kill((self.group, number));
    }

    fn end_all(&mut self) {
        self.launcher.world().end_group(self.group);
    }
}

impl Drop for SimulatedChildren {
    fn drop(&mut self) {
        self.launcher.world().abandon(self.group);
    }
}
