use super::*;
use crate::domain::attempt::{CostBasis, Limited, NewAttempt};
use crate::domain::executor::ExecutorName;
use crate::domain::id::Id;
use crate::domain::plan::Alternative;
use crate::domain::plan::policy::TaskPolicy;
use crate::domain::run::Owner;
use crate::domain::time::Timestamp;

fn next_choice(spec: &PlanTask, attempts: &[Attempt]) -> Option<Choice> {
    standing(spec, attempts).choice
}

fn ended(alternative: Option<u32>, outcome: AttemptOutcome) -> Attempt {
    Attempt {
        begun: NewAttempt {
            id: Id::from_bits(1),
            task_id: Id::from_bits(2),
            run_id: Id::from_bits(3),
            number: 1,
            executor: "aop-stdio".to_owned(),
            model: None,
            alternative,
            agent_session: None,
            owner: Owner {
                pid: 1,
                start_time: 1,
                boot_id: "b".to_owned(),
                within: Vec::new(),
                machine: String::new(),
                store: None,
            },
        },
        state: AttemptState::Failed,
        started_at: Timestamp::from_millis(0),
        ended_at: Some(Timestamp::from_millis(1)),
        outcome: Some(outcome),
        rollback: None,
    }
}

fn with_code(code: FailureCode) -> AttemptOutcome {
    AttemptOutcome { code: Some(code.as_str().to_owned()), ..AttemptOutcome::default() }
}

fn failed(alternative: Option<u32>, code: FailureCode) -> Attempt {
    ended(alternative, with_code(code))
}

fn costing(code: FailureCode, micros: Option<i64>) -> Attempt {
    ended(None, AttemptOutcome { cost: micros.map(MicroUsd), ..with_code(code) })
}

fn limited() -> Attempt {
    let limited = Limited { resource: "claude".to_owned(), until: None, reason: "429".to_owned() };
    ended(None, AttemptOutcome { limited: Some(limited), ..with_code(FailureCode::ModelUnavailable) })
}

fn spec(retries: u32, triggers: &[FallbackTrigger]) -> PlanTask {
    let alternative = |trigger: &FallbackTrigger| Alternative {
        executor: ExecutorName::aop_stdio(),
        command: vec!["other".to_owned()],
        model: Some("m".to_owned()),
        trigger: *trigger,
    };
    PlanTask { retries, alternatives: triggers.iter().map(alternative).collect(), ..PlanTask::minimal("a") }
}

#[test]
fn retries_of_the_same_come_first_and_are_counted_for_each_alternative() {
    let spec = spec(1, &[FallbackTrigger::Timeout, FallbackTrigger::AllErrors]);
    let first = |code| failed(None, code);
    assert_eq!(next_choice(&spec, &[]), None);
    assert_eq!(next_choice(&spec, &[first(FailureCode::Timeout)]), Some(Choice::Retry));
    let two = [first(FailureCode::Timeout), first(FailureCode::Timeout)];
    assert_eq!(next_choice(&spec, &two), Some(Choice::Alternative(0)));
    let heart = [first(FailureCode::Timeout), first(FailureCode::HeartbeatFailure)];
    assert_eq!(next_choice(&spec, &heart), Some(Choice::Alternative(0)));
    let other = [first(FailureCode::Timeout), first(FailureCode::Unknown)];
    assert_eq!(next_choice(&spec, &other), Some(Choice::Alternative(1)), "the last failure decides");
    let three = [two.to_vec(), vec![failed(Some(0), FailureCode::Unknown)]].concat();
    assert_eq!(next_choice(&spec, &three), Some(Choice::Retry));
    let four = [three, vec![failed(Some(0), FailureCode::Timeout)]].concat();
    assert_eq!(next_choice(&spec, &four), Some(Choice::Alternative(1)), "it never goes back");
    let all = [four, vec![failed(Some(1), FailureCode::Timeout); 2]].concat();
    assert_eq!(next_choice(&spec, &all), Some(Choice::GiveUp(GivenUp::Exhausted)));
    let asked = [all, vec![first(FailureCode::Timeout)]].concat();
    assert_eq!(next_choice(&spec, &asked), Some(Choice::GiveUp(GivenUp::Spent)), "a person wanted one more");
}

#[test]
fn a_first_error_skips_the_retries() {
    let spec = spec(5, &[FallbackTrigger::Timeout, FallbackTrigger::FirstError]);
    assert_eq!(next_choice(&spec, &[failed(None, FailureCode::FileNotFound)]), Some(Choice::Alternative(1)));
}

#[test]
fn each_trigger_has_its_failures() {
    let cases = [
        (FallbackTrigger::Timeout, FailureCode::Timeout, FailureCode::ProcessCrash),
        (FallbackTrigger::CriticalError, FailureCode::AgentNotFound, FailureCode::Timeout),
        (FallbackTrigger::CostLimitExceeded, FailureCode::CostLimitExceeded, FailureCode::Timeout),
    ];
    for (trigger, fits, other) in cases {
        let spec = spec(0, &[trigger]);
        assert_eq!(next_choice(&spec, &[failed(None, fits)]), Some(Choice::Alternative(0)), "{trigger}");
        let given_up = Some(Choice::GiveUp(GivenUp::Exhausted));
        assert_eq!(next_choice(&spec, &[failed(None, other)]), given_up, "{trigger}");
    }
}

#[test]
fn without_alternatives_the_failure_keeps_its_own_code() {
    assert_eq!(
        next_choice(&spec(0, &[]), &[failed(None, FailureCode::Timeout)]),
        Some(Choice::GiveUp(GivenUp::Spent))
    );
}

#[test]
fn a_critical_error_ends_a_task_that_says_so() {
    let policy = TaskPolicy { aborts_on_critical: true, ..TaskPolicy::default() };
    let of = |triggers: &[FallbackTrigger], code| {
        next_choice(&PlanTask { policy, ..spec(3, triggers) }, &[failed(None, code)])
    };
    assert_eq!(of(&[], FailureCode::ProcessCrash), Some(Choice::GiveUp(GivenUp::Critical)));
    assert_eq!(of(&[], FailureCode::Timeout), Some(Choice::Retry), "not critical");
    assert_eq!(
        of(&[FallbackTrigger::AllErrors], FailureCode::ProcessCrash),
        Some(Choice::GiveUp(GivenUp::Critical))
    );
    let both = [FallbackTrigger::AllErrors, FallbackTrigger::CriticalError];
    assert_eq!(of(&both, FailureCode::ProcessCrash), Some(Choice::Alternative(1)));
}

#[test]
fn what_all_attempts_spent_counts_against_one_budget() {
    let mut spec = spec(9, &[FallbackTrigger::AllErrors]);
    spec.budget.cost = Some(MicroUsd(50));
    let after = |attempts: &[Attempt]| next_choice(&spec, attempts).unwrap();
    assert_eq!(after(&[costing(FailureCode::Timeout, Some(30))]), Choice::Retry);
    let two = [costing(FailureCode::Timeout, Some(30)), costing(FailureCode::Timeout, Some(20))];
    let spent = Overspent::Cost { spent: MicroUsd(50), max: MicroUsd(50) };
    assert_eq!(after(&two), Choice::GiveUp(GivenUp::OverBudget(spent)));
    let own_limit = [costing(FailureCode::CostLimitExceeded, Some(30))];
    assert_eq!(after(&own_limit), Choice::Alternative(0), "something is left, but not for the same model");
    let unknown = Overspent::UnknownCost { attempt: 1, max: MicroUsd(50) };
    assert_eq!(after(&[costing(FailureCode::Timeout, None)]), Choice::GiveUp(GivenUp::OverBudget(unknown)));
    let interrupted = Attempt { state: AttemptState::Interrupted, ..costing(FailureCode::Timeout, None) };
    assert_eq!(after(&[interrupted, costing(FailureCode::Timeout, Some(0))]), Choice::Retry);
    let last = PlanTask { retries: 0, alternatives: Vec::new(), ..spec.clone() };
    assert_eq!(
        next_choice(&last, &[costing(FailureCode::Timeout, None)]),
        Some(Choice::GiveUp(GivenUp::Spent)),
        "there is no further attempt that the budget could forbid"
    );
    let free = AttemptOutcome { cost_basis: Some(CostBasis::NoModel), ..with_code(FailureCode::Timeout) };
    assert_eq!(after(&[ended(None, free)]), Choice::Retry);
}

#[test]
fn tokens_of_all_attempts_count_too() {
    let mut spec = spec(9, &[]);
    spec.budget.tokens = Some(100);
    let using = |tokens| ended(None, AttemptOutcome { tokens, ..with_code(FailureCode::Timeout) });
    assert_eq!(next_choice(&spec, &[using(Some(99))]), Some(Choice::Retry));
    let spent = Overspent::Tokens { spent: 101, max: 100 };
    let given_up = Some(Choice::GiveUp(GivenUp::OverBudget(spent)));
    assert_eq!(next_choice(&spec, &[using(Some(99)), using(Some(2))]), given_up);
    let unknown = Overspent::UnknownTokens { attempt: 1, max: 100 };
    assert_eq!(next_choice(&spec, &[using(None)]), Some(Choice::GiveUp(GivenUp::OverBudget(unknown))));
}

#[test]
fn what_started_runs_spent_or_withhold_counts_against_the_same_budget_once() {
    let mut spec = spec(9, &[]);
    spec.budget = Budget { cost: Some(MicroUsd(50)), tokens: Some(100) };
    let mut one = costing(FailureCode::Timeout, Some(20));
    one.outcome.as_mut().unwrap().tokens = Some(10);
    let of = |cost, tokens| Amount { cost: MicroUsd(cost), tokens };
    let after = |spent, withheld| {
        let delegated = Delegated { reserved: of(9, 9), spent, withheld };
        let standing = standing(&spec, std::slice::from_ref(&one)).with_delegated(spec.budget, delegated);
        ((standing.cost.0, standing.tokens), standing.choice.unwrap())
    };
    let given_up = |why| Choice::GiveUp(GivenUp::OverBudget(why));
    let max = MicroUsd(50);
    assert_eq!(after(of(0, 0), of(0, 0)), ((20, 10), Choice::Retry));
    assert_eq!(after(of(29, 89), of(0, 0)), ((49, 99), Choice::Retry));
    let spent = Overspent::Cost { spent: max, max };
    assert_eq!(after(of(30, 0), of(0, 0)), ((50, 10), given_up(spent)));
    let spent = Overspent::Tokens { spent: 100, max: 100 };
    assert_eq!(after(of(0, 90), of(0, 0)), ((20, 100), given_up(spent)));
    assert_eq!(after(of(9, 9), of(20, 80)), ((29, 19), Choice::Retry), "one of each is left");
    let withheld = Overspent::WithheldCost { spent: MicroUsd(29), withheld: MicroUsd(21), max };
    assert_eq!(after(of(9, 9), of(21, 0)), ((29, 19), given_up(withheld)));
    let withheld = Overspent::WithheldTokens { spent: 19, withheld: 81, max: 100 };
    assert_eq!(after(of(9, 9), of(0, 81)), ((29, 19), given_up(withheld)));
}

#[test]
fn a_rate_limit_uses_up_no_retry_but_not_without_end() {
    let spec_without = spec(0, &[]);
    let most = usize::try_from(LIMITED_ATTEMPTS_MAX).unwrap();
    assert_eq!(next_choice(&spec_without, &vec![limited(); most]), Some(Choice::Retry));
    assert_eq!(next_choice(&spec_without, &vec![limited(); most + 1]), Some(Choice::GiveUp(GivenUp::Spent)));
    for trigger in [FallbackTrigger::AllErrors, FallbackTrigger::CriticalError, FallbackTrigger::FirstError] {
        assert_eq!(
            next_choice(&spec(3, &[trigger]), &[limited()]),
            Some(Choice::Alternative(0)),
            "{trigger}"
        );
    }
    assert_eq!(next_choice(&spec(0, &[FallbackTrigger::Timeout]), &[limited()]), Some(Choice::Retry));
}
