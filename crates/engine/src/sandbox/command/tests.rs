use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use contract::domain::id::Id;
use ops::Caller;
use ops::inside::ActsFor;
use testkit::Scratch;

use super::*;

struct NoDoors;

struct NoDoor;

impl TaskDoor for NoDoor {}

impl TaskDoors for NoDoors {
    fn open(&self, _: UnixListener, _: InsideCaller) -> io::Result<Box<dyn TaskDoor>> {
        Ok(Box::new(NoDoor))
    }
}

fn task() -> InsideTask {
    let agent = contract::domain::request::Agent::parse("ann").unwrap();
    let caller = Caller::of(&contract::domain::principal::Principal::Agent(agent));
    let (name, reference) = ("t".to_owned(), "t".to_owned());
    InsideTask { task_id: Id::from_bits(7), name, reference, acts: ActsFor::Agent(caller) }
}

fn sandboxes(scratch: &Scratch, mode: SandboxMode) -> Result<Option<CommandSandboxes>, String> {
    let (root, store) = (scratch.join("private"), scratch.join("db"));
    let settings = SandboxSettings { root, store, ..SandboxSettings::default() };
    let wishes = CommandWishes { mode: Some(mode), git: GitUse::Read, namespace: Namespace::On };
    CommandSandboxes::new(settings, &wishes, &scratch.dir("work"), Box::new(NoDoors), || None)
}

#[test]
fn nothing_is_left_of_a_command_whose_sandbox_is_refused() {
    let scratch = Scratch::new();
    let sandboxes = sandboxes(&scratch, SandboxMode::Enforce).unwrap().unwrap();
    let directories = sandboxes.directories(task());
    let file = directories.temporary().unwrap().join("packet");
    std::fs::write(&file, "p").unwrap();
    symlink(scratch.dir("elsewhere"), scratch.join("work/link")).unwrap();
    let scopes = [Scope::parse("link/file", None).unwrap()];
    let refused = directories.open(&scopes, (&["true".into()], &mut BTreeMap::new()));
    assert!(refused.is_err());
    assert!(!file.exists());
    assert_eq!(std::fs::read_dir(scratch.join("private")).unwrap().count(), 0);
}

#[test]
fn a_mode_that_wants_no_sandbox_gives_none() {
    let scratch = Scratch::new();
    assert!(sandboxes(&scratch, SandboxMode::Off).unwrap().is_none());
    assert_eq!(sandboxes(&scratch, SandboxMode::Prefer).unwrap().unwrap().mode(), SandboxMode::Prefer);
}
