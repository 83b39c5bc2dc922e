use contract::aocl::Bundle;
use contract::aop::needs::NeedsJudgment;
use contract::domain::plan::PlanTask;
use serde_json::json;

use super::*;
use crate::pipeline::layer::Fetched;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{call, call_with, decisions, delta, run_of, start_facts, task};

fn shape(spec: PlanTask, timeout_max: Option<Duration>) -> Outcome {
    let (run, subject) = (run_of(vec![spec.clone()]), task(1, spec));
    let lookup = |name: &str| (name == "TOKEN").then(|| "correct horse".to_owned());
    let facts = start_facts(&run, &subject, &[]);
    let fetched = Fetched::Start(StartFacts { attempt_number: 2, timeout_max, lookup: &lookup, ..facts });
    call_with(super::run, &fetched, &Bundle::new(), &[Handed::Brief("the brief".to_owned())])
}

fn shaped(outcome: Outcome) -> Shaped {
    let Next::Continue(Handed::Launch(shaped)) = outcome.next else { panic!("not shaped: {outcome:?}") };
    *shaped
}

#[test]
fn the_context_tells_attempt_executor_time_and_scope() {
    let outcome = shape(PlanTask::minimal("a"), None);
    assert_eq!(decisions(&outcome), ["SHAPED: shell for a, at most 30m00s"]);
    let expected = json!({
        "C2.Task.t1.attempt": 2, "C2.Task.t1.executor": "shell",
        "C2.Task.t1.timeout_ms": 1_800_000, "C2.Task.t1.writes": [],
    });
    assert_eq!(delta(&outcome), expected);
}

#[test]
fn the_policy_caps_the_time() {
    let hour = Duration::from_hours(1);
    let minute = Duration::from_mins(1);
    assert_eq!(shaped(shape(PlanTask::minimal("a"), Some(minute))).timeout, minute);
    assert_eq!(shaped(shape(PlanTask::minimal("a"), Some(hour))).timeout, Duration::from_mins(30));
}

#[test]
fn the_child_gets_its_variables_and_a_secret_is_hidden() {
    let env = [("PLAIN", "x"), ("SECRET", "env:TOKEN")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let outcome = shape(PlanTask { env: env.into(), ..PlanTask::minimal("a") }, None);
    assert!(!format!("{:?}", (&outcome.decisions, &outcome.delta)).contains("correct horse"));
    let shaped = shaped(outcome);
    assert_eq!((&*shaped.env["PLAIN"], &*shaped.env["SECRET"]), ("x", "correct horse"));
    assert_eq!((&*shaped.env["WRIT_BRIEF"], &*shaped.env["WRIT_DEPTH"]), ("the brief", "1"));
    assert!(shaped.env.contains_key("WRIT_RUN") && shaped.env.contains_key("WRIT_TASK"));
    assert_eq!(shaped.hidden.clean("it is correct horse"), "it is [REDACTED:env]");
}

#[test]
fn a_variable_that_is_not_set_refuses_the_task() {
    let env = [("SECRET".to_owned(), "env:MISSING".to_owned())];
    let outcome = shape(PlanTask { env: env.into(), ..PlanTask::minimal("a") }, None);
    let reason = "env:MISSING is not set in writ's environment";
    assert_eq!(decisions(&outcome), [format!("ENV_MISSING: {reason}")]);
    assert_eq!(outcome.next, Next::Refuse(Reason::coded(FailureCode::PermissionDenied, reason)));
}

#[test]
fn what_the_machine_lacks_refuses_the_task_with_its_code() {
    let (run, subject) = (run_of(vec![PlanTask::minimal("a")]), task(1, PlanTask::minimal("a")));
    let reason = "the input `x` does not exist".to_owned();
    let unmet = Some(Unmet {
        code: contract::domain::failure_code::FailureCode::FileNotFound,
        rule: "input_missing",
        reason,
    });
    let needs = NeedsJudgment { unmet, warnings: Vec::new() };
    let facts = StartFacts { needs: &needs, ..start_facts(&run, &subject, &[]) };
    let outcome = call(super::run, &Fetched::Start(facts));
    assert_eq!(decisions(&outcome), ["NOT_MET: input_missing: the input `x` does not exist"]);
    assert_eq!(
        outcome.next,
        Next::Refuse(Reason::coded(FailureCode::FileNotFound, "the input `x` does not exist"))
    );
}
