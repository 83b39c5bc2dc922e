use super::*;
use crate::domain::check::{Check, Expects};

fn point(id: &str, first: usize, count: usize, recovery: Recovery) -> Checkpoint {
    Checkpoint { id: id.to_owned(), phase: "P".to_owned(), first, count, recovery, is_skipped: false }
}

fn checked(passed: bool) -> CheckSeen {
    let check = Check { command: vec!["make".to_owned()], shell: false, expects: Expects::ExitCode0 };
    if passed {
        CheckSeen { passed, problem: None, ..CheckSeen::not_run(&check, "") }
    } else {
        CheckSeen::not_run(&check, "exit 1")
    }
}

fn statuses(points: &[Checkpoint], checks: &[CheckSeen]) -> Vec<&'static str> {
    seen(points, checks).iter().map(|point| point.status.as_str()).collect()
}

#[test]
fn a_checkpoint_is_what_its_checks_show() {
    let mut skipped = point("D", 3, 0, Recovery::Retry);
    skipped.is_skipped = true;
    let points = [
        point("A", 0, 1, Recovery::Retry),
        point("B", 1, 2, Recovery::Continue),
        point("C", 3, 0, Recovery::Retry),
        skipped,
    ];
    assert_eq!(statuses(&points, &[]), ["PENDING", "PENDING", "PENDING", "SKIP"]);
    let all = [checked(true), checked(true), checked(true)];
    assert_eq!(statuses(&points, &all), ["PASS", "PASS", "PENDING", "SKIP"]);
    assert_eq!(statuses(&points, &all[..2]), ["PASS", "PENDING", "PENDING", "SKIP"]);
    let half = [checked(true), checked(false), checked(false)];
    assert_eq!(statuses(&points, &half), ["PASS", "FAIL", "PENDING", "SKIP"]);
    assert_eq!(seen(&points, &half)[1].problem.as_deref(), Some("check `make` failed: exit 1"));
}

#[test]
fn the_strategy_of_a_checkpoint_holds_for_each_of_its_checks_and_no_other() {
    let points = [point("A", 1, 2, Recovery::Continue), point("B", 3, 1, Recovery::Abort)];
    let found: Vec<Recovery> = (0..5).map(|check| recovery(&points, check)).collect();
    let expected =
        [Recovery::Retry, Recovery::Continue, Recovery::Continue, Recovery::Abort, Recovery::Retry];
    assert_eq!(found, expected);
    let ends: Vec<usize> = (0..4).map(|check| not_run(&points, check, 4).len()).collect();
    assert_eq!(ends, [0, 1, 0, 0]);
}

#[test]
fn only_a_failed_checkpoint_aborts_or_is_tolerated() {
    let points = [point("A", 0, 1, Recovery::Continue), point("B", 1, 1, Recovery::Abort)];
    let passed = [checked(true), checked(true)];
    assert_eq!((aborted(&points, &passed), tolerated(&points, &passed)), (None, Vec::new()));
    let failed = [checked(false), checked(false)];
    assert_eq!(aborted(&points, &failed), Some("B"));
    assert_eq!(tolerated(&points, &failed), ["checkpoint A failed: check `make` failed: exit 1"]);
}
