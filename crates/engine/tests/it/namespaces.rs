//! Executors in pid namespaces: what is killed, in whatever order, ends everything, and nothing inside reaches out.

use std::os::fd::OwnedFd;
use std::time::Instant;

use contract::domain::confinement::Namespace;
use contract::domain::process::Remains;
use contract::domain::run::Owner as Identity;
use engine::supervisor::process_table::Process;
use engine::supervisor::{self, ChildReport, NamespaceInForce, ProcessExit, ProcessRole, find_marked};
use ops::run::Liveness;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use testkit::process::signal;
use testkit::{PATIENCE, Signal, eventually};

use crate::world::{Owner, PROGRAM, Run, alive, in_force};

/// Daemons that cleared their environment, and one that starts further ones all the time.
const DAEMONS: [&str; 3] = [
    "env -i setsid sleep $0 & wait",
    "(env -i setsid sh -c 'trap \"\" TERM HUP; (setsid sleep $0 &); sleep $0' $0 &); sleep $0",
    "while :; do (env -i setsid sleep $0 &); sleep 0.01; done",
];

/// Whether executors get namespaces here. A machine that refuses them has nothing to show in these tests.
fn has_namespaces() -> bool {
    let in_force = in_force(Namespace::On);
    assert_eq!(in_force == NamespaceInForce::On, testkit::has_namespaces(), "{in_force:?}");
    testkit::has_namespaces()
}

/// A descriptor of every process that belongs to the token.
fn pinned(token: &str) -> Vec<OwnedFd> {
    let open =
        |process: Process| pidfd_open(Pid::from_raw(process.pid.cast_signed())?, PidfdFlags::empty()).ok();
    alive(token).into_iter().filter_map(open).collect()
}

/// Waits until each of these processes has ended.
#[track_caller]
fn await_ends(processes: &[OwnedFd]) {
    let deadline = Instant::now() + PATIENCE;
    for process in processes {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut waits = [PollFd::new(process, PollFlags::IN)];
        assert_eq!(poll(&mut waits, Some(&left)), Ok(1), "a process outlived writ");
    }
}

#[test]
fn soak_nothing_outlives_writ_and_all_of_its_shims_killed_at_once() {
    if !has_namespaces() {
        return testkit::Storm::skip("this machine has no namespaces");
    }
    let rounds = testkit::rounds(5);
    let mut kills = 0;
    for round in 0..rounds {
        let mut owner = Owner::start(&DAEMONS);
        let shims = owner.wait_for_shims();
        eventually("the daemons run", || alive(&owner.token).len() >= 1 + 2 * 3 + 6);
        // All stand still first, so that none of them can do anything about the death of another.
        let mut victims = shims;
        victims.insert(if round % 2 == 0 { 0 } else { victims.len() }, owner.process.id());
        victims.iter().for_each(|&pid| signal(pid, Signal::STOP));
        let all = pinned(&owner.token);
        victims.iter().for_each(|&pid| signal(pid, Signal::KILL));
        kills += victims.len();
        await_ends(&all);
        owner.process.wait().unwrap();
        eventually("those that began meanwhile are gone too", || alive(&owner.token).is_empty());
    }
    let (operations, rounds) = (u64::from(rounds) * 3, u64::from(rounds));
    testkit::Storm { rounds, operations, kills: kills as u64, seed: None }.report();
}

/// The first processes of the namespaces of an owner's executors.
fn first_processes(owner: &Owner) -> Vec<u32> {
    let own = owner.process.id();
    let marked = find_marked(|marker| marker.owner.pid == own);
    marked.iter().filter(|marked| marked.role == ProcessRole::Init).map(|marked| marked.process.pid).collect()
}

#[test]
fn killing_any_one_of_them_ends_everything_below_writ() {
    if !has_namespaces() {
        return;
    }
    for victim in ["writ", "shim", "shim, stopped", "first process", "executor"] {
        let mut owner = Owner::start(&DAEMONS[..1]);
        let shim = owner.wait_for_shims()[0];
        eventually("the daemon runs", || alive(&owner.token).len() == 5);
        let first = first_processes(&owner);
        let executor = |process: &&Process| process.parent == shim && !first.contains(&process.pid);
        let executor = alive(&owner.token).iter().find(executor).unwrap().pid;
        let all = pinned(&owner.token);
        match victim {
            "writ" => owner.kill(),
            "shim" => signal(shim, Signal::KILL),
            "shim, stopped" => {
                signal(shim, Signal::STOP);
                owner.kill();
            }
            "first process" => signal(first[0], Signal::KILL),
            _ => signal(executor, Signal::KILL),
        }
        if victim.starts_with("writ") || victim.ends_with("stopped") {
            await_ends(&all);
        }
        let own = owner.process.id();
        eventually(victim, || alive(&owner.token).iter().all(|process| process.pid == own));
    }
}

#[test]
fn an_executor_sees_itself_and_its_own_only_and_keeps_its_user() {
    if !has_namespaces() {
        return;
    }
    let text = "echo $PPID; cd /proc; echo [0-9]*; echo $(id -u):$(id -g); stat -c %u:%g /; cat /proc/1/comm";
    let seen = Run::start(text).finish().text();
    let lines: Vec<&str> = seen.lines().collect();
    let [parent, processes, user, root, first] = lines[..] else { panic!("{seen}") };
    assert_eq!((parent, processes), ("0", "1 2"));
    let (own_user, own_group) = (rustix::process::geteuid(), rustix::process::getegid());
    assert_eq!(user, format!("{}:{}", own_user.as_raw(), own_group.as_raw()));
    // To root every user keeps its number, to others only they themselves do.
    assert_eq!(root, if own_user.is_root() { "0:0" } else { "65534:65534" });
    assert!(first.starts_with("writ:"), "{first}");
}

#[test]
fn nothing_that_an_executor_does_to_its_first_process_helps_it() {
    if !has_namespaces() {
        return;
    }
    let attacks = [
        "kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -TSTP 1",
        "kill -HUP 1; kill -USR1 1; kill -QUIT 1; kill -SEGV 1; kill -CHLD 1; kill -CONT 1",
        "prlimit --pid 1 --nofile=0:0 --nproc=0:0 --as=1:1 --stack=1:1 --sigpending=0:0",
        "for i in 0 1 2 3 4 5; do echo x > /proc/1/fd/$i; done; echo x > /proc/1/mem; cat /proc/1/environ",
    ];
    for attack in attacks {
        let text =
            format!("({attack}) 2>/dev/null; env -i setsid sleep $0 & (setsid sleep $0 &); echo on; exit 3");
        let outcome = Run::start(&text).finish();
        assert!(
            matches!(&outcome.ends[..], [ChildReport::Exited(ProcessExit::Code(3)), ChildReport::Gone(gone)] if gone.survivors == 0),
            "{attack}: {outcome:?}"
        );
    }
}

#[test]
fn a_first_process_that_runs_out_of_cpu_time_takes_only_its_own_with_it() {
    if !has_namespaces() {
        return;
    }
    // It never runs, so a limit of its time does nothing; if it did, the executor would be the one to die.
    let outcome = Run::start("prlimit --pid 1 --cpu=1:1; env -i setsid sleep $0 & exit 4").finish();
    let [ChildReport::Exited(_), ChildReport::Gone(gone)] = &outcome.ends[..] else { panic!("{outcome:?}") };
    assert_eq!(gone.survivors, 0);
}

#[test]
fn without_a_namespace_a_shim_that_may_open_nothing_still_ends_everything() {
    let hidden = "(env -i setsid sleep $0 &); (setsid sh -c 'sleep $0 & sleep $0 & wait' $0 &)";
    let text = format!("{hidden}; prlimit --pid $PPID --nofile=0:0; read line; exit 3");
    let token = crate::world::fresh_token();
    let mut spec = crate::world::script(&token, &text);
    spec.confinement.namespace = Namespace::Off;
    spec.stdin = engine::supervisor::Stdin::KeptOpen(Vec::new());
    let run = Run::of(token, spec);
    eventually("all are there", || alive(&run.token).len() == 6);
    let shim = run.handle.shim_pid();
    let limits = || std::fs::read_to_string(format!("/proc/{shim}/limits")).unwrap_or_default();
    eventually("the shim is blind", || {
        limits().lines().any(|line| line.starts_with("Max open files            0"))
    });
    run.handle.stop();
    let outcome = run.finish();
    let [ChildReport::Exited(_), ChildReport::Gone(gone)] = &outcome.ends[..] else { panic!("{outcome:?}") };
    assert_eq!((gone.killed, gone.survivors), (4, 0));
}

#[test]
fn without_a_namespace_a_shim_without_memory_or_time_is_cleaned_up_after() {
    engine::supervisor::become_subreaper().unwrap();
    for limit in ["--as=1:1", "--cpu=0:0", "--data=0:0"] {
        let text = format!(
            "env -i setsid sleep $0 & prlimit --pid $PPID {limit} --nofile=0:0; head -c 9000000 /dev/zero; exit 3"
        );
        let outcome = Run::start_with(Namespace::Off, &text).finish();
        let survivors = match outcome.ends.last() {
            Some(ChildReport::Gone(gone)) => gone.survivors as usize,
            Some(ChildReport::Lost(lost)) => lost.reaped.survivors,
            other => panic!("{limit}: {other:?}"),
        };
        assert_eq!(survivors, 0, "{limit}");
    }
}

/// What a shell has to run so that the rest of the script finds no namespaces.
const FORBID: &str = "echo 0 > /proc/sys/user/max_user_namespaces";

#[test]
fn where_the_system_refuses_namespaces_the_shim_and_the_marks_do_the_work() {
    if !has_namespaces() {
        return;
    }
    for (prepare, reason) in
        [(FORBID, "a new pid namespace"), ("mount -t tmpfs none /proc/tty", "a new /proc")]
    {
        let mut owner = Owner::nested(prepare, &["env -i setsid sleep $0 & wait"]);
        let shims = owner.wait_for_shims();
        let said = owner.in_force();
        assert!(said.starts_with(&format!("refused: {reason}")), "{said}");
        eventually("the daemon runs", || alive(&owner.token).len() >= 4);
        assert_eq!(shims.len(), 1);
        owner.kill();
        eventually("the shim has ended all", || alive(&owner.token).is_empty());
    }
}

fn identity_in(run: &Run) -> Identity {
    let mut text = Vec::new();
    loop {
        match run.reports.recv_timeout(PATIENCE).unwrap() {
            ChildReport::Stdout(bytes) => text.extend(bytes),
            ChildReport::Started { .. } => {}
            other => panic!("{other:?}"),
        }
        if text.ends_with(b"\n") {
            return serde_json::from_slice(&text).unwrap();
        }
    }
}

#[test]
fn an_owner_inside_is_known_by_its_namespace_and_dead_with_it() {
    if !has_namespaces() {
        return;
    }
    for text in ["P identity", "env -i P identity", "(env -i setsid P identity &); sleep $0"] {
        let run = Run::start(&text.replace('P', PROGRAM));
        let owner = identity_in(&run);
        let [init] = &owner.within[..] else { panic!("{owner:?}") };
        assert_eq!(Some(&init.outside), engine::supervisor::own_pid_namespace().as_ref());
        assert_eq!(engine::probe(&owner), Liveness::Alive, "{text}");
        let other = Identity { pid: owner.pid + 1000, ..owner.clone() };
        assert_eq!(engine::probe(&other), Liveness::Dead, "another pid in a namespace that is there");
        let (boot, _) = owner.boot_id.split_once(' ').unwrap();
        let elsewhere = Identity { boot_id: format!("{boot} pid:[1]"), ..owner.clone() };
        assert_eq!(engine::probe(&elsewhere), Liveness::Dead, "the same pid in another namespace");
        let unknown = Identity { within: Vec::new(), ..owner.clone() };
        assert_eq!(engine::probe(&unknown), Liveness::Unseen, "a namespace that writ did not make");
        run.handle.kill();
        assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
        assert_eq!(engine::probe(&owner), Liveness::Dead, "{text}");
        assert_eq!(engine::probe(&unknown), Liveness::Unseen);
    }
}

#[test]
fn an_engine_inside_is_named_and_ended_by_its_pid_outside() {
    if !has_namespaces() {
        return;
    }
    let run = Run::start(&format!("(env -i setsid {PROGRAM} identity &); sleep $0"));
    let owner = identity_in(&run);
    let pid = supervisor::pid_here(&owner).expect("it can be seen");
    assert_ne!(pid, owner.pid);
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(line.ends_with(b"identity\0"), "{line:?}");
    signal(pid, Signal::STOP);
    eventually("it is stopped", || supervisor::look_at(&owner) == Remains::Stopped);
    assert_eq!(supervisor::end_engine(&owner), Remains::Gone);
    assert!(!testkit::process::is_running(pid));
    assert_eq!(supervisor::pid_here(&owner), None);
    assert!(!alive(&run.token).is_empty(), "the task in whose namespace it was goes on");
    run.handle.kill();
    assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
}

#[test]
fn a_namespace_inside_another_ends_with_the_outer_one() {
    if !has_namespaces() {
        return;
    }
    let inner = crate::world::fresh_token();
    let text =
        format!("tail -f /dev/null | {PROGRAM} owner on {inner} 'env -i setsid sleep $0 & wait' & wait");
    let mut outer = Owner::start(&[&text]);
    let shims = outer.wait_for_shims();
    eventually("the inner daemon runs", || alive(&inner).len() == 5);
    let mut all = pinned(&outer.token);
    all.extend(pinned(&inner));
    signal(shims[0], Signal::KILL);
    let own = outer.process.id();
    outer.kill();
    await_ends(&all);
    assert!(!testkit::process::is_running(own));
}
