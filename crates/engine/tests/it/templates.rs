//! Shims that are copies of a template: children of their owner, with their own marks.

use std::sync::mpsc::{self, Receiver};

use engine::supervisor::process_table::{self, Process};
use engine::supervisor::{
    ChildReport, Handle, InForce, Limits, MarkedProcess, ProcessExit, ProcessRole, Sandbox, ShimProgram,
    Stdin, Supervisor, find_marked,
};
use testkit::process::signal;
use testkit::{PATIENCE, Signal, eventually};

use crate::world::{PROGRAM, fresh_token, script};

fn start(token: &str, text: &str) -> (Handle, Receiver<ChildReport>) {
    start_with(Sandbox::default(), token, text)
}

fn start_with(sandbox: Sandbox, token: &str, text: &str) -> (Handle, Receiver<ChildReport>) {
    let shim = ShimProgram {
        program: PROGRAM.into(),
        args: vec!["shim".into()],
        has_template: true,
        store: std::sync::OnceLock::new(),
    };
    let (sender, reports) = mpsc::channel();
    let mut spec = script(token, text);
    spec.stdin = Stdin::KeptOpen(Vec::new());
    spec.confinement.sandbox = Some(Box::new(sandbox));
    let handle = Supervisor::start(&shim, spec, move |report| drop(sender.send(report)));
    (handle.unwrap(), reports)
}

/// Everything that this process's engine started and marked.
fn marked() -> Vec<MarkedProcess> {
    find_marked(|marker| marker.owner.pid == std::process::id())
}

/// The children of this process with this word among their arguments.
fn children_with(word: &str) -> Vec<Process> {
    let mut table = process_table::snapshot();
    table.retain(|process| process.parent == std::process::id() && !process.is_zombie);
    table.retain(|process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    });
    table
}

fn template() -> Process {
    let mut found = marked();
    found.retain(|found| found.role == ProcessRole::Template);
    let [template] = &found[..] else { panic!("there is one template: {found:?}") };
    template.process
}

#[track_caller]
fn exits_with(code: i32, (handle, reports): (Handle, Receiver<ChildReport>)) {
    handle.write(b"go on\n");
    let exit = std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok())
        .find_map(|report| if let ChildReport::Exited(exit) = report { Some(exit) } else { None });
    assert_eq!(exit, Some(ProcessExit::Code(code)));
    handle.join();
}

#[test]
fn a_copy_is_a_child_of_its_owner_in_its_own_session_with_its_own_mark() {
    let tokens: Vec<String> = (0..4).map(|_| fresh_token()).collect();
    let runs: Vec<_> = tokens.iter().map(|token| start(token, "read line; exit 5")).collect();
    for (token, (handle, reports)) in tokens.iter().zip(&runs) {
        assert!(matches!(reports.recv_timeout(PATIENCE), Ok(ChildReport::Started { .. })));
        let shim = process_table::read(handle.shim_pid()).unwrap();
        assert_eq!((shim.parent, shim.session), (std::process::id(), shim.pid));
        let own = marked().into_iter().find(|found| found.process.pid == shim.pid).unwrap();
        assert_eq!((own.role, &own.marker), (ProcessRole::Shim, &crate::world::marker(token)));
        // Those who may not read its environment read its arguments.
        let word = format!("WRIT_SHIM={}", own.marker);
        assert!(children_with(&word).iter().any(|found| found.pid == shim.pid));
    }
    // The first one was started as a program. Beside the copies there is the template.
    assert_eq!(children_with("WRIT_TEMPLATE").len(), runs.len());
    assert_eq!(template().session, template().pid);
    runs.into_iter().for_each(|run| exits_with(5, run));
    assert_eq!(children_with("WRIT_TEMPLATE").len(), 1, "the template waits for the next one");
}

#[test]
fn a_template_that_was_killed_costs_nothing_but_another_one() {
    let begin = || start(&fresh_token(), "exit 3");
    [begin(), begin()].into_iter().for_each(|run| exits_with(3, run));
    let first = template();
    signal(first.pid, Signal::KILL);
    eventually("it is dead", || process_table::read(first.pid).is_none_or(|found| found.is_zombie));
    (0..3).map(|_| begin()).for_each(|run| exits_with(3, run));
    let second = template();
    assert_ne!(second.pid, first.pid);
    assert_eq!(process_table::read(first.pid), None, "it was collected");
}

/// What is in force for an executor, and what it prints about the places that are hidden from everybody.
fn confined((handle, reports): (Handle, Receiver<ChildReport>)) -> (InForce, String) {
    handle.write(b"go on\n");
    let (mut in_force, mut said) = (None, Vec::new());
    for report in std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok()) {
        match report {
            ChildReport::Started { in_force: told, .. } => in_force = Some(told),
            ChildReport::Stdout(bytes) => said.extend(bytes),
            _ => {}
        }
    }
    handle.join();
    (in_force.unwrap(), String::from_utf8(said).unwrap())
}

/// Mounts, and what is in places that are hidden from everybody.
const LOOK: &str = "read line; cut -d' ' -f2,3 /proc/self/mounts | sort; ls -A /run /dev/shm /dev/pts; \
                    find /dev -type b -readable; ls -l /dev/ptmx";

#[test]
fn what_a_copy_hides_is_what_a_shim_hides_that_was_started_as_a_program() {
    if !testkit::has_namespaces() {
        return;
    }
    let kept = tempfile::tempdir_in("/dev/shm").unwrap();
    let sandbox = || Sandbox { writes: Some(Vec::new()), ..Sandbox::default() };
    let look = || confined(start_with(sandbox(), &fresh_token(), LOOK));
    let program = look();
    assert_eq!(look(), program);
    let keeping = Sandbox { keeps: vec![kept.path().into()], ..sandbox() };
    let name = kept.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(confined(start_with(keeping, &fresh_token(), "read line; ls -A /dev/shm")).1.trim(), name);
    let limits = Limits { memory_bytes_max: 1 << 20, ..Limits::default() };
    let text = "read line; df -B1 --output=size /dev/shm";
    let limited = confined(start_with(Sandbox { limits, ..sandbox() }, &fresh_token(), text));
    assert!(limited.1.trim().ends_with(&(1 << 20).to_string()));
}
