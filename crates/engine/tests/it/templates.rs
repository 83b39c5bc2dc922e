//! Shims that are copies of a template: children of their owner, with their own marks.

use std::sync::mpsc::{self, Receiver};

use engine::supervisor::process_table::{self, Process};
use engine::supervisor::{
    Exit, Handle, InForce, Limits, MarkedProcess, Report, Role, Sandbox, ShimProgram, Stdin, Supervisor,
    find_marked,
};
use testkit::process::signal;
use testkit::{PATIENCE, Signal, eventually};

use crate::world::{PROGRAM, fresh_token, script};

fn start(token: &str, text: &str) -> (Handle, Receiver<Report>) {
    start_with(Sandbox::default(), token, text)
}

fn start_with(sandbox: Sandbox, token: &str, text: &str) -> (Handle, Receiver<Report>) {
    let shim = ShimProgram { program: PROGRAM.into(), args: vec!["shim".into()], has_template: true, store: std::sync::OnceLock::new() };
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

/// The template is where this process is; a spare has entered another place.
fn is_here(process: &Process) -> bool {
    let mounts = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    mounts(&process.pid.to_string()) == mounts("self")
}

fn waiting() -> Vec<Process> {
    let templates = marked().into_iter().filter(|found| found.role == Role::Template);
    templates.map(|found| found.process).collect()
}

fn template() -> Process {
    let mut found = waiting();
    found.retain(is_here);
    let [template] = found[..] else { panic!("there is one template: {found:?}") };
    template
}

/// The shim that waits for the next executor: made when one child follows another quickly.
fn spare() -> Process {
    let found = || waiting().into_iter().find(|found| !is_here(found));
    eventually("a shim is made before it is needed", || {
        found().is_some() || {
            exits_with(3, start(&fresh_token(), "exit 3"));
            false
        }
    });
    found().unwrap()
}

/// An executor whose shim was made before. On a busy machine a spare may be too old when its time comes.
fn start_from_spare(sandbox: &Sandbox, token: &str, text: &str) -> (Handle, Receiver<Report>) {
    for _ in 0..SPARES_TRIED_MAX {
        let spare = spare();
        let (handle, reports) = start_with(sandbox.clone(), token, text);
        if handle.shim_pid() == spare.pid {
            return (handle, reports);
        }
        handle.kill();
        handle.join();
    }
    panic!("no spare was used");
}

const SPARES_TRIED_MAX: usize = 20;

#[track_caller]
fn exits_with(code: i32, (handle, reports): (Handle, Receiver<Report>)) {
    handle.write(b"go on\n");
    let exit = std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok())
        .find_map(|report| if let Report::Exited(exit) = report { Some(exit) } else { None });
    assert_eq!(exit, Some(Exit::Code(code)));
    handle.join();
}

#[test]
fn a_copy_is_a_child_of_its_owner_in_its_own_session_with_its_own_mark() {
    let tokens: Vec<String> = (0..4).map(|_| fresh_token()).collect();
    let runs: Vec<_> = tokens.iter().map(|token| start(token, "read line; exit 5")).collect();
    for (token, (handle, reports)) in tokens.iter().zip(&runs) {
        assert!(matches!(reports.recv_timeout(PATIENCE), Ok(Report::Started { .. })));
        let shim = process_table::read(handle.shim_pid()).unwrap();
        assert_eq!((shim.parent, shim.session), (std::process::id(), shim.pid));
        let own = marked().into_iter().find(|found| found.process.pid == shim.pid).unwrap();
        assert_eq!((own.role, &own.marker), (Role::Shim, &crate::world::marker(token)));
        // Those who may not read its environment read its arguments.
        let word = format!("WRIT_SHIM={}", own.marker);
        assert!(children_with(&word).iter().any(|found| found.pid == shim.pid));
    }
    // The first one was started as a program. Beside the copies there are the template, and mostly a spare.
    let others = runs.len() - 1;
    assert!((others + 1..=others + 2).contains(&children_with("WRIT_TEMPLATE").len()));
    assert_eq!(template().session, template().pid);
    runs.into_iter().for_each(|run| exits_with(5, run));
    assert!(children_with("WRIT_TEMPLATE").len() <= 2, "template and spare wait for the next one");
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

#[test]
fn a_spare_becomes_the_next_shim_with_its_mark_and_does_what_every_other_one_does() {
    // A machine that refuses them has no spares.
    if !testkit::has_namespaces() {
        return;
    }
    let token = fresh_token();
    let (handle, reports) = start_from_spare(&Sandbox::default(), &token, "read line; exit 6");
    let shim = handle.shim_pid();
    let own = marked().into_iter().find(|found| found.process.pid == shim).unwrap();
    assert_eq!((own.role, own.marker), (Role::Shim, crate::world::marker(&token)));
    exits_with(6, (handle, reports));
    eventually("nothing of it is left", || process_table::read(shim).is_none());
}

#[test]
fn a_spare_that_was_killed_or_is_too_old_costs_nothing_but_another_one() {
    // A machine that refuses them has no spares.
    if !testkit::has_namespaces() {
        return;
    }
    let first = spare();
    signal(first.pid, Signal::KILL);
    eventually("it is dead", || process_table::read(first.pid).is_none_or(|found| found.is_zombie));
    exits_with(3, start(&fresh_token(), "exit 3"));
    assert_eq!(process_table::read(first.pid), None, "it was collected");
    let second = spare();
    eventually("it has waited long enough", || {
        process_table::read(second.pid).is_none_or(|found| found.is_zombie)
    });
    exits_with(3, start(&fresh_token(), "exit 3"));
    assert_eq!(process_table::read(second.pid), None, "it was collected");
    assert!(waiting().iter().all(is_here), "one that follows nobody soon needs no spare");
}

#[test]
fn a_spare_from_before_the_end_of_a_free_child_is_not_used() {
    // A machine that refuses them has no spares.
    if !testkit::has_namespaces() {
        return;
    }
    let waits = spare();
    assert!(!crate::world::Run::start("exit").finish().ends.is_empty());
    let (handle, reports) = start(&fresh_token(), "exit 3");
    assert_ne!(handle.shim_pid(), waits.pid, "it may not see what the free one has made");
    exits_with(3, (handle, reports));
}

/// What is in force for an executor, and what it prints about the places that are hidden from everybody.
fn confined((handle, reports): (Handle, Receiver<Report>)) -> (InForce, String) {
    handle.write(b"go on\n");
    let (mut in_force, mut said) = (None, Vec::new());
    for report in std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok()) {
        match report {
            Report::Started { in_force: told, .. } => in_force = Some(told),
            Report::Stdout(bytes) => said.extend(bytes),
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
fn what_a_spare_hides_in_advance_is_what_every_other_shim_hides() {
    // A machine that refuses them has no spares.
    if !testkit::has_namespaces() {
        return;
    }
    let kept = tempfile::tempdir_in("/dev/shm").unwrap();
    let sandbox = || Sandbox { writes: Some(Vec::new()), ..Sandbox::default() };
    let from_spare = confined(start_from_spare(&sandbox(), &fresh_token(), LOOK));
    // A program, because there is no other shim that never was a spare: it is for one that keeps what a spare has covered.
    engine::supervisor::end_template();
    let other = confined(start_with(sandbox(), &fresh_token(), LOOK));
    assert_eq!(from_spare, other);
    let waits = spare();
    let keeping = Sandbox { keeps: vec![kept.path().into()], ..sandbox() };
    let (handle, reports) = start_with(keeping, &fresh_token(), "read line; ls -A /dev/shm");
    assert_ne!(handle.shim_pid(), waits.pid, "a spare has covered it");
    let name = kept.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(confined((handle, reports)).1.trim(), name);
    let waits = spare();
    let limits = Limits { memory_bytes_max: 1 << 20, ..Limits::default() };
    let (handle, reports) = start_with(
        Sandbox { limits, ..sandbox() },
        &fresh_token(),
        "read line; df -B1 --output=size /dev/shm",
    );
    assert_ne!(handle.shim_pid(), waits.pid, "its directories in memory are larger");
    assert!(confined((handle, reports)).1.trim().ends_with(&(1 << 20).to_string()));
}
