//! Every descendant ends, however it hides, and no sooner than it should.

use std::time::Duration;

use engine::supervisor::process_table;
use engine::supervisor::{ChildReport, Gone, ProcessExit};
use testkit::eventually;

use crate::world::{MODES, Run, alive, fresh_token, script, supervisors};

const NOTHING_LEFT: ChildReport = ChildReport::Gone(Gone { killed: 0, survivors: 0 });

fn killed(killed: u32) -> ChildReport {
    ChildReport::Gone(Gone { killed, survivors: 0 })
}

#[test]
fn an_executor_that_ends_is_reported_and_gone() {
    assert_eq!(Run::start("true").finish().ends, [ChildReport::Exited(ProcessExit::Code(0)), NOTHING_LEFT]);
    assert_eq!(Run::start("exit 7").finish().ends, [ChildReport::Exited(ProcessExit::Code(7)), NOTHING_LEFT]);
    assert_eq!(
        Run::start("kill -USR1 $$").finish().ends,
        [ChildReport::Exited(ProcessExit::Signal(10)), NOTHING_LEFT]
    );
}

#[test]
fn what_an_executor_leaves_in_the_background_ends_with_it() {
    let outcome = Run::start("sleep $0 & sleep $0 & exit 3").finish();
    assert_eq!(outcome.ends, [ChildReport::Exited(ProcessExit::Code(3)), killed(2)]);
}

#[test]
fn hiding_in_another_session_does_not_help() {
    let text = r#"nohup setsid sh -c 'trap "" TERM HUP INT; (setsid env -i sleep $0 &) ; sleep $0' $0 >/dev/null 2>&1 &
        (nohup sleep $0 >/dev/null 2>&1 &)
        until [ -e GO ]; do sleep 0.01; done"#;
    for namespace in MODES {
        let beside = supervisors(namespace);
        let directory = tempfile::tempdir().unwrap();
        let go = directory.path().join("go");
        let run = Run::start_with(namespace, &text.replace("GO", go.to_str().unwrap()));
        let in_hiding =
            || alive(&run.token).iter().filter(|process| process.session != run.handle.shim_pid()).count();
        eventually("all are hidden", || in_hiding() == 3 && alive(&run.token).len() == 5 + beside);
        std::fs::write(go, "").unwrap();
        assert_eq!(run.finish().ends, [ChildReport::Exited(ProcessExit::Code(0)), killed(4)]);
    }
}

#[test]
fn stop_asks_first() {
    let run = Run::start("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
    run.wait_for_line("ready");
    run.handle.stop();
    let outcome = run.finish();
    assert_eq!(outcome.text(), "bye\n");
    assert_eq!(outcome.ends[0], ChildReport::Exited(ProcessExit::Code(5)));
}

#[test]
fn stop_ends_what_does_not_listen() {
    let token = fresh_token();
    let mut spec = script(&token, "trap '' TERM; echo ready; while :; do sleep 1000; done");
    spec.grace = Duration::from_millis(100);
    let run = Run::of(token, spec);
    run.wait_for_line("ready");
    run.handle.stop();
    assert_eq!(run.finish().ends, [ChildReport::Exited(ProcessExit::Signal(9)), killed(1)]);
}

#[test]
fn behind_a_wrapper_that_ends_at_once_the_agent_still_has_its_grace() {
    let token = fresh_token();
    let agent = r#"sh -c 'trap "sleep 0.3; echo saved; exit 0" TERM; echo ready; while :; do sleep 0.01; done' & wait"#;
    let mut spec = script(&token, agent);
    spec.grace = Duration::from_secs(50);
    let run = Run::of(token, spec);
    run.wait_for_line("ready");
    run.handle.stop();
    let outcome = run.finish();
    assert_eq!(outcome.text(), "saved\n");
    assert_eq!(outcome.ends, [ChildReport::Exited(ProcessExit::Signal(15)), NOTHING_LEFT]);
}

#[test]
fn a_stopped_executor_hears_the_request_too() {
    let token = fresh_token();
    let mut spec =
        script(&token, "trap 'exit 6' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done");
    spec.grace = Duration::from_secs(50);
    let run = Run::of(token, spec);
    run.wait_for_line("ready");
    run.handle.stop();
    assert_eq!(run.finish().ends[0], ChildReport::Exited(ProcessExit::Code(6)));
}

#[test]
fn kill_does_not_ask() {
    let run = Run::start("trap 'echo no' TERM; setsid sleep $0 & echo ready; wait");
    run.wait_for_line("ready");
    run.handle.kill();
    let outcome = run.finish();
    assert_eq!(outcome.text(), "");
    assert_eq!(outcome.ends, [ChildReport::Exited(ProcessExit::Signal(9)), killed(1)]);
}

#[test]
fn a_dropped_handle_kills() {
    let Run { token, handle, reports } = Run::start("setsid sleep $0 & echo ready; wait");
    drop(handle);
    eventually("everything is dead", || alive(&token).is_empty());
    let last = reports.into_iter().last();
    assert!(matches!(last, Some(ChildReport::Gone(_))), "{last:?}");
}

#[test]
fn a_chain_of_forks_in_one_group_is_caught() {
    for round in 0..20 {
        // Each link starts the next one and ends.
        let run = Run::start_with(MODES[round % 2], "f() { f & }; f; echo ready; sleep 0.02");
        assert!(matches!(
            run.finish().ends[..],
            [ChildReport::Exited(ProcessExit::Code(0)), ChildReport::Gone(_)]
        ));
    }
}

#[test]
fn a_chain_of_forks_through_sessions_is_caught() {
    for round in 0..6 {
        let link = r#"export LINK='setsid sh -c "$LINK" '$0' &'; sh -c "$LINK" $0; sleep 0.1"#;
        assert!(matches!(
            Run::start_with(MODES[round % 2], link).finish().ends[..],
            [ChildReport::Exited(ProcessExit::Code(0)), ChildReport::Gone(_)]
        ));
    }
}

#[test]
fn many_children_that_fork_all_the_time_end() {
    let text = "for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'while :; do (exit 0); sleep $0 & done' $0 & done; sleep 0.2";
    for namespace in MODES {
        let ends = Run::start_with(namespace, text).finish().ends;
        assert!(
            matches!(
                ends[..],
                [ChildReport::Exited(ProcessExit::Code(0)), ChildReport::Gone(Gone { survivors: 0, .. })]
            ),
            "{ends:?}"
        );
    }
}

#[test]
fn orphans_that_end_early_do_not_pile_up() {
    for namespace in MODES {
        let beside = supervisors(namespace);
        let text = "for i in 1 2 3 4 5 6 7 8; do (sh -c 'exit 0' &); done; echo ready; sleep $0";
        let run = Run::start_with(namespace, text);
        run.wait_for_line("ready");
        let shim = run.handle.shim_pid();
        eventually("the shim has no other child, and the first process none", || {
            let all = process_table::snapshot();
            let first = all.iter().find(|process| process.parent == shim).map_or(0, |process| process.pid);
            let below = |parent: u32| all.iter().filter(|process| process.parent == parent).count();
            below(shim) == beside && (beside == 1 || below(first) == 0)
        });
        run.handle.kill();
        assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
    }
}
