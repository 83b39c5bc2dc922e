use super::*;

#[test]
fn exit_codes_outside_the_table_are_failures() {
    let table = [0, 1, 2, 42, 3, 130, -9].map(|code| OlExit::from_code(code).code());
    assert_eq!(table, [0, 1, 2, 42, 1, 1, 1]);
}

#[test]
fn artifacts_decide_before_the_exit_code() {
    let ended = |exit_code, artifacts_found, retries_left, breaker| {
        interpret(DispatchEnd { exit_code, artifacts_found, retries_left, breaker })
    };
    assert_eq!(ended(0, Some(true), 0, false), DispatchOutcome::Success);
    assert_eq!(ended(1, Some(true), 0, true), DispatchOutcome::Success);
    assert_eq!(ended(0, Some(false), 2, false), DispatchOutcome::Retry);
    assert_eq!(ended(0, Some(false), 0, false), DispatchOutcome::Fail);
    assert_eq!(ended(7, Some(false), 2, false), DispatchOutcome::Retry);
    assert_eq!(ended(7, Some(false), 2, true), DispatchOutcome::Escalate);
    assert_eq!(ended(7, Some(false), 0, false), DispatchOutcome::Fail);
    assert_eq!(ended(0, None, 0, false), DispatchOutcome::Success);
    assert_eq!(ended(1, None, 1, false), DispatchOutcome::Retry);
}

#[test]
fn a_phase_without_a_row_requires_nothing() {
    assert_eq!(expected_artifacts("VIBE_GATE"), []);
    assert!(expected_artifacts("FLYWHEEL").iter().all(|artifact| !artifact.required));
    assert_eq!(expected_artifacts("PLAN").iter().filter(|artifact| artifact.required).count(), 1);
}
