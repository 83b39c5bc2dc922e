//! One child, run to its end by the function that every waiting caller uses.

use std::time::Duration;

use engine::launcher::{ChildLimits, ChildOutput, RunError, Wish, ask, run};
use engine::supervisor::{ProcessExit, Stdin};
use testkit::PATIENCE;

use crate::world::{alive, fresh_token, script, shim_program};

const BOUNDS: ChildLimits = ChildLimits { timeout: PATIENCE, output_bytes_max: 1_000, beyond: Wish::Kill };

/// Runs a shell script; nothing of it is left afterwards.
fn run_script(
    text: &str,
    bounds: ChildLimits,
    watch: &mut dyn FnMut(ChildOutput<'_>) -> Wish,
) -> Result<ProcessExit, RunError> {
    let token = fresh_token();
    let ended = run(&shim_program(&token), script(&token, text), bounds, watch);
    assert_eq!(alive(&token), [], "still alive after the end");
    ended
}

#[test]
fn a_child_that_ends_by_itself_says_how() {
    let mut printed = Vec::new();
    let mut watch = |seen: ChildOutput<'_>| {
        if let ChildOutput::Stdout(bytes) | ChildOutput::Stderr(bytes) = seen {
            printed.extend_from_slice(bytes);
        }
        Wish::GoOn
    };
    assert_eq!(run_script("echo out; exit 3", BOUNDS, &mut watch).unwrap(), ProcessExit::Code(3));
    assert_eq!(run_script("echo err >&2; kill -9 $$", BOUNDS, &mut watch).unwrap(), ProcessExit::Signal(9));
    assert_eq!(printed, b"out\nerr\n");
}

#[test]
fn a_child_beyond_its_time_is_ended() {
    let short = ChildLimits { timeout: Duration::from_millis(200), ..BOUNDS };
    let ended = run_script("trap '' TERM; sleep $0", short, &mut |_| Wish::GoOn);
    assert!(matches!(ended, Err(RunError::Timeout(_))), "{ended:?}");
    // A child that is asked can still clean up.
    let mut printed = Vec::new();
    let asked = ChildLimits { beyond: Wish::Stop, ..short };
    let ended = run_script("trap 'echo saved; exit 0' TERM; sleep $0 & wait", asked, &mut |seen| {
        if let ChildOutput::Stdout(bytes) = seen {
            printed.extend_from_slice(bytes);
        }
        Wish::GoOn
    });
    assert!(matches!(ended, Err(RunError::Timeout(_))), "{ended:?}");
    assert_eq!(printed, b"saved\n");
}

#[test]
fn a_child_that_prints_too_much_is_ended() {
    let mut shown = 0;
    let ended = run_script("exec cat /dev/zero", BOUNDS, &mut |seen| {
        if let ChildOutput::Stdout(bytes) = seen {
            shown += bytes.len();
        }
        Wish::GoOn
    });
    assert!(matches!(ended, Err(RunError::TooMuchOutput(1_000))), "{ended:?}");
    assert!(shown <= 1_000, "{shown} bytes were shown");
}

#[test]
fn the_caller_can_end_a_child_also_while_it_floods() {
    let unbounded = ChildLimits { output_bytes_max: usize::MAX, ..BOUNDS };
    for text in ["sleep $0", "exec cat /dev/zero"] {
        let mut ticks = 0;
        let ended = run_script(text, unbounded, &mut |seen| {
            ticks += u32::from(seen == ChildOutput::Tick);
            if ticks < 2 { Wish::GoOn } else { Wish::Kill }
        });
        assert!(matches!(ended, Err(RunError::Stopped)), "{text}: {ended:?}");
    }
}

#[test]
fn a_program_that_is_not_there_was_not_started() {
    let token = fresh_token();
    let mut spec = script(&token, "true");
    spec.argv = vec!["/no/such/program".into()];
    let ended = run(&shim_program(&token), spec, BOUNDS, &mut |_| Wish::GoOn);
    assert!(matches!(ended, Err(RunError::NotStarted(_))), "{ended:?}");
}

#[test]
fn an_answer_is_what_was_printed_with_how_it_ended() {
    let token = fresh_token();
    let mut spec = script(&token, "cat; echo trouble >&2; exit 1");
    spec.stdin = Stdin::Bytes(b"question".to_vec());
    let answered = ask(&shim_program(&token), spec, PATIENCE).unwrap();
    assert_eq!(answered.printed, b"question");
    assert_eq!(answered.complaint, b"trouble\n");
    assert_eq!(answered.exit, ProcessExit::Code(1));
}

#[test]
fn input_that_is_kept_open_has_no_end() {
    let token = fresh_token();
    // `read` would fail at the end of the input instead of waiting for a line.
    let mut spec = script(&token, "read line; echo \"$line\"; read -r rest; echo ended");
    spec.stdin = Stdin::KeptOpen(b"first\n".to_vec());
    let mut printed = Vec::new();
    let mut ticks = 0;
    let ended = run(&shim_program(&token), spec, BOUNDS, &mut |seen| {
        match seen {
            ChildOutput::Stdout(bytes) => printed.extend_from_slice(bytes),
            ChildOutput::Started(_) | ChildOutput::Stderr(_) => {}
            ChildOutput::Tick => ticks += u32::from(!printed.is_empty()),
        }
        if ticks < 5 { Wish::GoOn } else { Wish::Kill }
    });
    assert!(matches!(ended, Err(RunError::Stopped)), "{ended:?}");
    assert_eq!(printed, b"first\n");
    assert_eq!(alive(&token), []);
}
