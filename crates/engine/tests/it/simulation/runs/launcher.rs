//! The launcher of a simulated engine: children from the world, and time that passes only while the engine waits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::process::Remains;
use contract::domain::run::{Owner, Run};
use contract::domain::task::Task;
use contract::intake::Executors;
use engine::host::{Door, LocalHost, PlainDoor};
use engine::launcher::{Children, Launcher};
use engine::supervisor::{ChildReport, LaunchSpec, OwnerIdentity, StartError};
use engine::{Observer, Settings};
use ops::host::HowToWork;
use ops::run::Liveness;

use super::seams::Fuse;
use super::world::{Happening, World};

pub(super) const BOOT: &str = "simulated";

#[derive(Clone)]
pub(super) struct SimulatedLauncher {
    pub(super) engine: u32,
    pub(super) fuse: Fuse,
    pub(super) world: Arc<Mutex<World>>,
    pub(super) engines: Arc<Mutex<Engines>>,
}

/// Which engine runs now, which are stopped, and which dead ones nobody can see, as in another container.
#[derive(Default)]
pub(super) struct Engines {
    pub(super) alive: Option<u32>,
    /// Until when they are stopped. Then they die.
    pub(super) stopped: BTreeMap<u32, i64>,
    pub(super) unseen: BTreeSet<u32>,
    /// Engines whose children run, for those who cannot look into the world.
    pub(super) with_children: BTreeSet<u32>,
}

impl Engines {
    fn probe(&self, owner: &Owner) -> Liveness {
        match self.look_at(owner) {
            Remains::Running | Remains::Stopped => Liveness::Alive,
            Remains::Unseen => Liveness::Unseen,
            Remains::Gone | Remains::Left => Liveness::Dead,
        }
    }

    /// A dead engine counts as gone.
    pub(super) fn look_at(&self, owner: &Owner) -> Remains {
        if self.alive == Some(owner.pid) {
            Remains::Running
        } else if self.stopped.contains_key(&owner.pid) {
            Remains::Stopped
        } else if self.unseen.contains(&owner.pid) {
            Remains::Unseen
        } else {
            Remains::Gone
        }
    }
}

impl SimulatedLauncher {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Launcher for SimulatedLauncher {
    fn identity(&self) -> OwnerIdentity {
        OwnerIdentity::process(self.engine, 1, BOOT.to_owned())
    }

    fn owner(&self) -> Owner {
        Owner {
            pid: self.engine,
            start_time: 1,
            boot_id: BOOT.to_owned(),
            within: Vec::new(),
            machine: String::new(),
            store: None,
        }
    }

    fn probe(&self, owner: &Owner) -> Liveness {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner).probe(owner)
    }

    fn settle(&self, engine: &Owner) -> Remains {
        self.fuse.touch();
        let remains = self.look_at(engine);
        if remains != Remains::Gone {
            return remains;
        }
        let remains = self.world().settle(engine.pid);
        self.fuse.touch();
        remains
    }

    fn look_at(&self, engine: &Owner) -> Remains {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner).look_at(engine)
    }

    fn end_engine(&self, engine: &Owner) -> Remains {
        self.settle(engine)
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

/// Somebody who looks at engines and starts nothing.
struct Bystander(Arc<Mutex<Engines>>);

impl Launcher for Bystander {
    fn identity(&self) -> OwnerIdentity {
        OwnerIdentity::process(0, 1, BOOT.to_owned())
    }

    fn owner(&self) -> Owner {
        Owner {
            pid: 0,
            start_time: 1,
            boot_id: BOOT.to_owned(),
            within: Vec::new(),
            machine: String::new(),
            store: None,
        }
    }

    fn probe(&self, owner: &Owner) -> Liveness {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).probe(owner)
    }

    fn settle(&self, engine: &Owner) -> Remains {
        let engines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match engines.look_at(engine) {
            Remains::Gone if engines.with_children.contains(&engine.pid) => Remains::Left,
            remains => remains,
        }
    }

    fn look_at(&self, engine: &Owner) -> Remains {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).look_at(engine)
    }

    fn end_engine(&self, engine: &Owner) -> Remains {
        self.settle(engine)
    }

    fn end_leftovers(&self) {}

    fn monotonic_ms(&self) -> i64 {
        0
    }

    fn pause(&self, _: Duration) {}

    fn children(&self) -> Box<dyn Children> {
        panic!("a bystander starts nothing")
    }
}

/// The machine as others see it.
pub(super) fn bystander(engines: &Arc<Mutex<Engines>>) -> Rc<LocalHost> {
    host_of(Arc::new(Bystander(Arc::clone(engines))))
}

pub(super) fn host_of(launcher: Arc<dyn Launcher>) -> Rc<LocalHost> {
    Rc::new(LocalHost { launcher, door: Box::new(WithPerson) })
}

/// A door with a person who agrees to everything.
struct WithPerson;

impl Door for WithPerson {
    fn policy(&self, workspace: &Path) -> ops::Result<Policy> {
        PlainDoor.policy(workspace)
    }

    fn executors(&self, directory: &Path) -> ops::Result<Executors> {
        PlainDoor.executors(directory)
    }

    fn logs(&self) -> ops::Result<PathBuf> {
        PlainDoor.logs()
    }

    fn settings(&self, workspace: &Path, how: &HowToWork) -> ops::Result<Settings> {
        PlainDoor.settings(workspace, how)
    }

    fn observer(&self, run: &Run, tasks: &[Task]) -> Box<dyn Observer> {
        PlainDoor.observer(run, tasks)
    }

    fn ask_person(&self, action: &Action) -> ops::Result<String> {
        Ok(action.digits().to_owned())
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

    fn next(&mut self, patience: Duration) -> Option<(u64, ChildReport)> {
        self.launcher.fuse.touch();
        self.launcher.world().disturb();
        let happening = self.launcher.world().next(self.group, patience);
        self.launcher.fuse.touch();
        match happening {
            Happening::Report(number, report) => Some((number, report)),
            Happening::Nothing => None,
        }
    }

    /// No simulated program reads on.
    fn write(&self, _: u64, _: &[u8]) {}

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
