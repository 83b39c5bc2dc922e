use super::*;

fn seen(passed: bool) -> CheckSeen {
    CheckSeen {
        command: vec!["c".to_owned()],
        expects: Expects::ExitCode0,
        passed,
        exit_code: Some(i32::from(!passed)),
        output_digest: String::new(),
        output_tail: String::new(),
        problem: None,
        ran: None,
        tolerated: false,
    }
}

#[test]
fn checks_decide_first_then_what_the_plan_calls_safe_then_a_person() {
    assert_eq!(decide(1, &[seen(true)], (true, false)), RecoveryChoice::Verified);
    assert_eq!(decide(2, &[seen(true)], (true, true)), RecoveryChoice::Rerun);
    assert_eq!(decide(1, &[seen(false)], (true, false)), RecoveryChoice::Parked);
    // A task without checks is never proved to be finished.
    assert_eq!(decide(0, &[], (false, false)), RecoveryChoice::Parked);
    assert_eq!(decide(0, &[], (false, true)), RecoveryChoice::Rerun);
}

#[test]
fn a_file_that_was_there_before_does_not_show_that_interrupted_work_was_finished() {
    let exists =
        |path: &str| Check { expects: Expects::FileExists, ..Check::of_arguments(vec![path.to_owned()]) };
    let shows = |checks: &[Check]| shows_the_end(checks, |path| path == "old");
    assert!(!shows(&[exists("old")]) && shows(&[exists("old"), exists("new")]));
    assert!(shows(&[exists("old"), Check::of_arguments(vec!["true".to_owned()])]));
    assert_eq!(decide(1, &[seen(true)], (false, true)), RecoveryChoice::Rerun);
    assert_eq!(decide(1, &[seen(true)], (false, false)), RecoveryChoice::Parked);
}

#[test]
fn a_task_that_was_not_taken_back_is_not_run_again() {
    assert_eq!(with_files(RecoveryChoice::Rerun, false), RecoveryChoice::Parked);
    assert_eq!(with_files(RecoveryChoice::Rerun, true), RecoveryChoice::Rerun);
    assert_eq!(with_files(RecoveryChoice::Verified, false), RecoveryChoice::Verified);
}

#[test]
fn every_decision_has_a_legal_path_from_both_states() {
    let cases = [
        (RecoveryChoice::Verified, Status::Blocked, vec![Status::InProgress, Status::Done]),
        (RecoveryChoice::Verified, Status::InProgress, vec![Status::Done]),
        (RecoveryChoice::Rerun, Status::Blocked, vec![Status::Todo]),
        (RecoveryChoice::Rerun, Status::InProgress, vec![Status::Blocked, Status::Todo]),
        (RecoveryChoice::Parked, Status::Blocked, vec![Status::Blocked]),
        (RecoveryChoice::Parked, Status::InProgress, vec![Status::Blocked]),
    ];
    for (decision, from, path) in cases {
        assert_eq!(moves(decision, from), path, "{decision:?} from {from}");
    }
}

#[test]
fn a_task_without_checks_is_not_said_to_have_failed_them() {
    let why = |has_checks| Why { decision: RecoveryChoice::Parked, has_checks, is_safe: false };
    let told = |has_checks| reason(&why(has_checks), None, &RecoveredFiles::default());
    assert!(told(true).contains("its checks do not pass"));
    assert!(told(false).contains("it has no checks"));
}
