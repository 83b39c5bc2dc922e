use std::time::Duration;

use contract::domain::check::Expects;
use serde_json::json;

use super::*;
use crate::executor::{ChildEnd, Claims, failure};
use crate::pipeline::l7_delegate::DelegateFacts;
use crate::pipeline::layer::{EndFacts, Fetched};
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{call, decisions, delta, spent, verify_facts as facts};

fn seen(passed: bool) -> CheckSeen {
    CheckSeen {
        command: vec!["make".to_owned(), "test".to_owned()],
        expects: Expects::ExitCode0,
        passed,
        exit_code: Some(i32::from(!passed)),
        output_digest: String::new(),
        output_tail: String::new(),
        problem: (!passed).then(|| "exit 1, expected 0".to_owned()),
        ran: None,
        tolerated: false,
    }
}

fn verify(verify: VerifyFacts<'_>) -> Outcome {
    let returned = DelegateFacts {
        number: 1,
        ended: &ChildEnd::default(),
        claim: verify.claim,
        claims: &Claims::default(),
        took: Duration::ZERO,
        overruled: &BTreeMap::new(),
        silences: None,
        late_ms: None,
    };
    call(super::run, &Fetched::End(EndFacts { returned, verify }))
}

fn failed(code: &str, message: &str) -> AttemptVerdict {
    AttemptVerdict::Failed(Reason::coded(FailureCode::parse(code).unwrap(), message))
}

fn check_failed(message: &str) -> AttemptVerdict {
    AttemptVerdict::Failed(Reason::coded(FailureCode::Unknown, message).with_rule(ReasonRule::CheckFailed))
}

#[track_caller]
fn assert_judged(facts: VerifyFacts<'_>, decision: &str, verdict: AttemptVerdict, told: (&str, Option<f64>)) {
    let verified = verdict == AttemptVerdict::Done { verified: true };
    let expected = json!({"C2.Task.t1.verified": verified, "C2.Task.t1.tree_digest": facts.tree_digest});
    let outcome = verify(facts);
    assert_eq!(decisions(&outcome), [decision]);
    assert_eq!(delta(&outcome), expected);
    let Next::Continue(Handed::Judged(judged)) = outcome.next else { panic!("no verdict") };
    assert_eq!(judged.verdict, verdict);
    assert_eq!((judged.verification.status.as_str(), judged.verification.confidence), told);
}

#[test]
fn checks_that_pass_make_it_done_and_verified() {
    let checks = [seen(true), seen(true)];
    let verdict = AttemptVerdict::Done { verified: true };
    assert_judged(
        facts(&ExecutorClaim::Success, &checks),
        "VERIFIED: 2 of 2 checks passed",
        verdict,
        ("passed", Some(1.0)),
    );
}

#[test]
fn without_checks_done_is_only_claimed() {
    let verdict = AttemptVerdict::Done { verified: false };
    let decision = "CLAIMED: there is nothing to check; done is only claimed";
    assert_judged(facts(&ExecutorClaim::Success, &[]), decision, verdict, ("unverified", None));
}

#[test]
fn passed_checks_are_no_more_than_a_claim_if_something_speaks_against_it() {
    let withheld = ["one".to_owned(), "two".to_owned()];
    for (checks, checked) in [(&[seen(true)][..], true), (&[][..], false)] {
        let facts = VerifyFacts { withheld: &withheld, ..facts(&ExecutorClaim::Success, checks) };
        let verdict = AttemptVerdict::Withheld { checked, reason: "one; two".to_owned() };
        assert_judged(facts, "WITHHELD: one; two", verdict, ("unverified", None));
    }
}

#[test]
fn a_failed_check_overturns_the_claim() {
    let message = "check `make test` failed: exit 1, expected 0";
    assert_judged(
        facts(&ExecutorClaim::Success, &[seen(true), seen(false)]),
        &format!("OVERTURNED: check_failed: {message}"),
        check_failed(message),
        ("failed", Some(1.0)),
    );
}

#[test]
fn a_check_that_was_not_run_has_not_passed() {
    assert_judged(
        VerifyFacts { checks_expected: 2, ..facts(&ExecutorClaim::Success, &[seen(true)]) },
        "OVERTURNED: check_failed: not every check was run",
        check_failed("not every check was run"),
        ("failed", Some(1.0)),
    );
}

#[test]
fn a_claimed_failure_stays_one_even_if_checks_pass() {
    let claim = ExecutorClaim::Failure { code: FailureCode::Unknown, message: "no".to_owned() };
    let verdict = failed("E_UNKNOWN", "no");
    assert_judged(facts(&claim, &[seen(true)]), "FAILED: E_UNKNOWN: no", verdict, ("failed", Some(1.0)));
}

#[test]
fn work_over_its_budget_is_not_done_and_work_at_it_is() {
    let budget = Budget { cost: Some(MicroUsd(500_000)), tokens: Some(100) };
    let claim = ExecutorClaim::Success;
    let judged = |cost, tokens| {
        let spent = spent(budget, Some(MicroUsd(cost)), Some(tokens));
        judge(&VerifyFacts { spent, ..facts(&claim, &[]) })
    };
    assert_eq!(judged(500_000, 100), AttemptVerdict::Done { verified: false });
    for (cost, tokens) in [(500_001, 100), (500_000, 101)] {
        let verdict = judged(cost, tokens);
        assert!(
            matches!(&verdict, AttemptVerdict::Failed(it) if it.failure() == Some(FailureCode::CostLimitExceeded)),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_layer_that_refuses_grants_nothing() {
    let Judgment { verdict, verification } = refused("no answer");
    let reason = Reason::coded(FailureCode::Unknown, "no answer").with_rule(ReasonRule::Refused);
    assert_eq!(verdict, AttemptVerdict::Failed(reason));
    assert_eq!((verification.status.as_str(), verification.confidence), ("failed", None));
}

#[test]
fn every_verdict_has_a_code_of_aop() {
    let outside = Outside { forbidden: vec!["a".to_owned()], ..Outside::default() };
    let words = ["E_TIMEOUT", "E_ABORTED", "SCOPE_VIOLATION", "", "rate limited", "E_TEST_FAILURE"];
    let claims = words.map(|word| failure(word, "m"));
    let budget = Budget { cost: Some(MicroUsd(0)), tokens: Some(0) };
    for claim in claims.iter().chain([&ExecutorClaim::Success]) {
        for checks in [&[][..], &[seen(true)], &[seen(false)]] {
            for outside in [None, Some(&outside)] {
                for (aborted, cost) in [(None, None), (Some("C"), Some(MicroUsd(1)))] {
                    let spent = spent(budget, cost, None);
                    let facts = VerifyFacts { spent, outside, aborted, ..facts(claim, checks) };
                    let AttemptVerdict::Failed(reason) = judge(&facts) else { continue };
                    assert!(reason.failure().is_some(), "{reason:?}");
                }
            }
        }
    }
    assert_eq!(judge(&facts(&claims[5], &[])), failed("E_UNKNOWN", "E_TEST_FAILURE: m"));
}

#[test]
fn a_checkpoint_that_aborts_ends_the_task_and_one_that_does_not_only_fails_the_attempt() {
    let checks = [seen(false)];
    let aborting = VerifyFacts { aborted: Some("C-1"), ..facts(&ExecutorClaim::Success, &checks) };
    let verdict = judge(&aborting);
    assert!(verdict.is_aborted(), "{verdict:?}");
    let expected = "checkpoint C-1 ends the task: check `make test` failed: exit 1, expected 0";
    assert_eq!(verdict.told(), expected);
    assert!(!judge(&facts(&ExecutorClaim::Success, &checks)).is_aborted());
}

#[test]
fn a_tolerated_check_does_not_fail_the_task() {
    let checks = [CheckSeen { tolerated: true, ..seen(false) }, seen(true)];
    assert_eq!(judge(&facts(&ExecutorClaim::Success, &checks)), AttemptVerdict::Done { verified: true });
}

#[test]
fn findings_and_checkpoints_are_recorded_and_decide_nothing() {
    let findings = [Difference::new("output_artifacts[a].hash", "x", "y")];
    let point = CheckpointSeen {
        checkpoint_id: "C-1".to_owned(),
        phase_id: "P".to_owned(),
        status: contract::domain::report::CheckpointStatus::Pass,
        problem: None,
    };
    let checks = [seen(true)];
    let facts = VerifyFacts {
        findings: &findings,
        checkpoints: &[point],
        is_partial: true,
        ..facts(&ExecutorClaim::Success, &checks)
    };
    let outcome = verify(facts);
    assert_eq!(
        decisions(&outcome),
        [
            "VERIFIED: 1 of 1 checks passed",
            "PARTIAL_SUCCESS: only a part of the work is done",
            "CHECKPOINT: C-1 PASS",
            "FINDING: output_artifacts[a].hash: claimed x, seen y",
        ]
    );
    assert_eq!(delta(&outcome)["C2.Task.t1.checkpoints"], json!({"C-1": "PASS"}));
}
