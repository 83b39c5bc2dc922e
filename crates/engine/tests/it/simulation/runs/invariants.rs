//! What must be true of a run when it has ended, whatever happened on the way.

use std::collections::BTreeSet;

use contract::domain::attempt::{Attempt, AttemptState};
use contract::domain::crew::budget::Amount;
use contract::domain::plan::PlanTask;
use contract::domain::run::RunId;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::Task;
use ops::Context;
use ops::run::show::by_id;

use super::world::World;

/// Panics where the store contradicts the world.
pub(super) fn check_run(cx: &mut Context, world: &World, id: &RunId, a_person_reran: bool) {
    let whole = by_id(cx, id).unwrap();
    assert!(whole.run.state.is_terminal(), "the run ended as {:?}", whole.run.state);
    let done: BTreeSet<_> = whole
        .tasks
        .iter()
        .filter(|(task, _)| task.status == Status::Done)
        .map(|(task, _)| task.id.clone())
        .collect();
    for (task, attempts) in &whole.tasks {
        let spec = &task.part.as_ref().unwrap().spec;
        assert!(task.status.is_terminal(), "{} stays {}", spec.id, task.status);
        check_evidence(task, spec, attempts, world);
        check_attempts(spec, attempts, a_person_reran);
        if !attempts.is_empty() {
            assert!(task.depends_on.iter().all(|needed| done.contains(needed)), "{} ran too early", spec.id);
        }
    }
    let request = ops::lock::list::Request { run: Some(id.to_string()), history: false };
    assert_eq!(ops::lock::list::list(cx, &request).unwrap().locks, [], "locks are left");
    let request = ops::budget::show::Request { run: id.to_string() };
    let budget = ops::budget::show::show(cx, &ops::Session::reader(), &request).unwrap();
    if let (Some(limit), Some(spent), Some(withheld), Some(free)) =
        (budget.limit, budget.spent, budget.withheld, budget.free)
    {
        assert_eq!(budget.reserved, Some(Amount::default()), "money stays reserved");
        let used = spent.cost.0 + withheld.cost.0;
        assert_eq!(free.cost.map(|free| free.0 + used), limit.cost.map(|limit| limit.0), "money is lost");
    }
}

/// Done is granted for what is true, never for what was claimed.
fn check_evidence(task: &Task, spec: &PlanTask, attempts: &[Attempt], world: &World) {
    if task.status != Status::Done {
        return;
    }
    let last = attempts.last().expect("done without an attempt");
    if spec.checks.is_empty() {
        assert_eq!(last.state, AttemptState::Succeeded, "{} is done and its attempt is not", spec.id);
        assert_eq!(task.evidence, Some(Evidence::Claimed));
        assert!(world.claimed.contains(last.begun.id.as_str()), "nobody claimed that {} is done", spec.id);
    } else {
        // An interrupted attempt that is closed stays so, also when its checks show later that it had finished.
        let left_open = matches!(last.state, AttemptState::Interrupted | AttemptState::Unknown);
        assert!(last.state == AttemptState::Succeeded || left_open, "{} is done: {:?}", spec.id, last.state);
        assert_eq!(task.evidence, Some(Evidence::Verified), "{:?}", task.blocked_reason);
        assert!(world.finished.contains(&spec.id), "{} is verified and was never done", spec.id);
    }
}

/// Attempts are numbered without gaps, each is closed, and one that may have done something is not repeated unless
/// the plan or a person allows it.
fn check_attempts(spec: &PlanTask, attempts: &[Attempt], a_person_reran: bool) {
    let numbers: Vec<i64> = attempts.iter().map(|attempt| attempt.begun.number).collect();
    let expected: Vec<i64> = (1..).take(attempts.len()).collect();
    assert_eq!(numbers, expected, "{}", spec.id);
    for attempt in attempts {
        assert_ne!(attempt.state, AttemptState::Started, "an attempt of {} is not closed", spec.id);
        assert!(attempt.outcome.is_some(), "an attempt of {} has no outcome", spec.id);
    }
    for earlier in attempts.iter().rev().skip(1) {
        let may_run_again = match earlier.state {
            AttemptState::Failed => true,
            AttemptState::Interrupted => spec.retry_safe || a_person_reran,
            AttemptState::Unknown => a_person_reran,
            AttemptState::Started | AttemptState::Succeeded => false,
        };
        assert!(may_run_again, "{} ran again after {:?}", spec.id, earlier.state);
    }
    let failures = attempts.iter().filter(|attempt| attempt.state == AttemptState::Failed).count();
    let allowed = usize::try_from(spec.retries).unwrap() + 1;
    assert!(failures <= allowed || a_person_reran, "{} failed {failures} times", spec.id);
}

/// The log explains every row of the tables, and its chain is whole.
pub(super) fn check_log(cx: &mut Context) {
    assert_eq!(ops::audit::replay_differences(cx).unwrap(), Vec::<String>::new());
    let verification = ops::audit::verify(cx, None).unwrap();
    assert!(verification.is_clean(), "{verification:?}");
}
