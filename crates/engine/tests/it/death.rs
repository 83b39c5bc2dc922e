//! Death of the shim, and of writ itself: nothing outlives either.

use std::time::Duration;

use contract::domain::confinement::Namespace;
use engine::supervisor::{self, ChildReport, Handle};
use testkit::process::signal;
use testkit::{Signal, eventually};

use crate::world::{MODES, Owner, Run, alive, supervisors};

/// Executors that are hard to end, for owners that die.
const SCRIPTS: [&str; 4] = [
    "sleep $0",
    r#"setsid sh -c 'trap "" TERM HUP; (setsid env -i sleep $0 &); sleep $0' $0 & wait"#,
    "yes $0",
    "while :; do (setsid sleep $0 &); sleep 0.01; done",
];

#[test]
fn a_killed_shim_is_reported_and_cleaned_up_after() {
    supervisor::become_subreaper().unwrap();
    for namespace in MODES {
        let beside = supervisors(namespace);
        for _ in 0..5 {
            let text = "setsid sleep $0 & setsid env -i sleep $0 & (sleep $0 &); echo ready; wait";
            let run = Run::start_with(namespace, text);
            run.wait_for_line("ready");
            eventually("all four run", || alive(&run.token).len() == 4 + beside);
            signal(run.handle.shim_pid(), Signal::KILL);
            let ends = run.finish().ends;
            let [ChildReport::Lost(lost)] = &ends[..] else { panic!("{ends:?}") };
            // In a namespace the kernel ends them, and may be faster.
            assert!(lost.reaped.ended == 4 || beside == 2, "{lost:?}");
            assert_eq!(lost.reaped.survivors, 0);
            assert_eq!(lost.message, "the supervising process ended before its executor");
        }
    }
}

#[test]
fn a_shim_survives_signals_that_are_meant_for_others() {
    let run = Run::start("echo ready; sleep $0");
    run.wait_for_line("ready");
    for meant_for_others in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal(run.handle.shim_pid(), meant_for_others);
    }
    run.handle.stop();
    assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a point in time that follows from nothing is what is wanted")]
fn kill_nine_of_an_owner_leaves_nothing_behind() {
    for round in 0..u64::from(testkit::rounds(8)) {
        let mut owner = Owner::start_with(MODES[usize::from(round % 2 == 1)], &SCRIPTS);
        // A different point each time: before the shims, in their start, in the work.
        if round % 3 == 2 {
            owner.wait_for_shims();
        }
        std::thread::sleep(Duration::from_micros(round * 7919 % 30_000));
        owner.kill();
        eventually("everything is dead", || alive(&owner.token).is_empty());
    }
    let rounds = testkit::rounds(8).into();
    testkit::Storm { rounds, operations: rounds, kills: rounds, seed: None }.report();
}

#[test]
fn a_shim_that_its_executor_stopped_still_obeys() {
    for ending in [Handle::stop, Handle::kill] {
        let run = Run::start_with(Namespace::Off, "kill -STOP $PPID; setsid sleep $0");
        eventually("the executor runs", || alive(&run.token).len() == 3);
        ending(&run.handle);
        assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
    }
}

#[test]
fn nothing_outlives_an_owner_that_ends() {
    for namespace in MODES {
        let mut owner = Owner::start_with(namespace, &SCRIPTS);
        owner.wait_for_shims();
        drop(owner.process.stdin.take());
        assert!(owner.process.wait().unwrap().success());
        eventually("everything is dead", || alive(&owner.token).is_empty());
    }
}
