//! Input and output: complete, in order, bounded, and never a reason for a child not to end.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use engine::supervisor::{ChildReport, ProcessExit, Stdin, Supervisor};
use testkit::{PATIENCE, eventually};

use crate::world::{Run, alive, fresh_token, script, shim_program};

#[test]
fn both_outputs_arrive_whole() {
    let outcome = Run::start("echo out; echo err >&2; echo again").finish();
    assert_eq!(outcome.text(), "out\nagain\n");
    assert_eq!(outcome.stderr, b"err\n");
}

#[test]
fn output_in_the_pipe_at_the_exit_is_not_lost() {
    for _ in 0..20 {
        let outcome =
            Run::start("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; exec kill -9 $$").finish();
        assert_eq!((outcome.stdout.len(), outcome.stderr.len()), (60000, 60000));
    }
}

fn written_bytes(pid: u32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    counts.lines().find_map(|line| line.strip_prefix("wchar: ")).map_or(0, |count| count.parse().unwrap())
}

fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_flood_is_held_back_and_not_stored() {
    const BYTES: usize = 50_000_000;
    let token = fresh_token();
    let spec = script(&token, &format!("exec head -c {BYTES} /dev/zero"));
    let (go, may_go) = mpsc::channel::<()>();
    let (sender, reports) = mpsc::channel();
    let received = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&received);
    let handle = Supervisor::start(&shim_program(&token), spec, move |report| match report {
        ChildReport::Stdout(piece) => {
            if counter.fetch_add(piece.len(), Ordering::SeqCst) == 0 {
                may_go.recv_timeout(PATIENCE).unwrap();
            }
        }
        other => sender.send(other).unwrap(),
    });
    let handle = handle.unwrap();
    let Ok(ChildReport::Started { pid, .. }) = reports.recv_timeout(PATIENCE) else { panic!("no start") };
    // While the sink does not read, the flood stands still: many looks in a row see the same.
    let (mut written, mut looks) = (0, 0);
    eventually("the writer waits", || {
        let now = written_bytes(pid);
        looks = if now == written && now > 0 { looks + 1 } else { 0 };
        written = now;
        looks == 20
    });
    assert!(written < 2 * 1024 * 1024, "{written} bytes were taken from a flood nobody reads");
    let peak = peak_kib(handle.shim_pid());
    assert!(peak < 16 * 1024, "the shim took {peak} KiB for a flood nobody reads");
    go.send(()).unwrap();
    handle.join();
    let ends: Vec<ChildReport> = reports.into_iter().collect();
    assert!(
        matches!(ends[..], [ChildReport::Exited(ProcessExit::Code(0)), ChildReport::Gone(_)]),
        "{ends:?}"
    );
    assert_eq!(received.load(Ordering::SeqCst), BYTES);
}

#[test]
fn a_flood_that_nobody_reads_can_be_stopped() {
    let token = fresh_token();
    let spec = script(&token, "yes $0");
    let (go, may_go) = mpsc::channel::<()>();
    let (sender, reports) = mpsc::channel();
    let mut is_first = true;
    let handle = Supervisor::start(&shim_program(&token), spec, move |report| {
        let is_output = matches!(report, ChildReport::Stdout(_));
        if !is_output || is_first {
            sender.send(report).unwrap();
        }
        if is_output && std::mem::take(&mut is_first) {
            may_go.recv_timeout(PATIENCE).unwrap();
        }
    });
    let handle = handle.unwrap();
    assert!(matches!(reports.recv_timeout(PATIENCE).unwrap(), ChildReport::Started { .. }));
    assert!(matches!(reports.recv_timeout(PATIENCE).unwrap(), ChildReport::Stdout(_)));
    handle.stop();
    // Only the shim is left, with frames that nobody has taken.
    eventually("the flood ends", || alive(&token).iter().all(|process| process.pid == handle.shim_pid()));
    go.send(()).unwrap();
    handle.join();
    let ends: Vec<ChildReport> = reports.into_iter().collect();
    assert!(
        matches!(ends[..], [ChildReport::Exited(ProcessExit::Signal(15)), ChildReport::Gone(_)]),
        "{ends:?}"
    );
}

#[test]
fn an_outsider_with_the_pipe_in_hand_does_not_hold_up_the_end() {
    let run = Run::start("echo ready; exec sleep $0");
    let Ok(ChildReport::Started { pid, .. }) = run.reports.recv_timeout(PATIENCE) else { panic!("no start") };
    run.wait_for_line("ready");
    let held = OpenOptions::new().write(true).open(format!("/proc/{pid}/fd/1")).unwrap();
    run.handle.kill();
    assert_eq!(run.finish().ends[0], ChildReport::Exited(ProcessExit::Signal(9)));
    drop(held);
}

fn with_input(text: &str, input: Stdin) -> Run {
    let token = fresh_token();
    let mut spec = script(&token, text);
    spec.stdin = input;
    Run::of(token, spec)
}

#[test]
fn input_is_given_and_then_closed() {
    let input: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    let outcome = with_input("cat", Stdin::Bytes(input.clone())).finish();
    assert!(outcome.stdout == input, "{} bytes came back", outcome.stdout.len());
    assert_eq!(with_input("cat; echo end", Stdin::Bytes(Vec::new())).finish().text(), "end\n");
    assert_eq!(with_input("cat; echo end", Stdin::Closed).finish().text(), "end\n");
}

#[test]
fn an_executor_need_not_read_its_input() {
    let input = Stdin::Bytes(vec![b'x'; 1_000_000]);
    let closes = with_input("exec <&-; sleep 0.05; echo fine", input.clone()).finish();
    assert_eq!(closes.text(), "fine\n");
    assert_eq!(closes.ends[0], ChildReport::Exited(ProcessExit::Code(0)));
    let ignores = with_input("echo fine", input.clone()).finish();
    assert_eq!(ignores.text(), "fine\n");
    let run = with_input("echo ready; sleep $0", input);
    run.wait_for_line("ready");
    run.handle.kill();
    assert_eq!(run.finish().ends[0], ChildReport::Exited(ProcessExit::Signal(9)));
}
