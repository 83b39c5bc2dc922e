use contract::domain::crew::budget::{Amount, BudgetFault};
use contract::domain::id::mint;
use contract::domain::limit_window::{LimitWindow, Reset, ResetBasis, Sighting, WaitReason};
use contract::domain::money::MicroUsd;
use contract::domain::time::Clock;
use ops::limit_window::LimitConflict;
use testkit::{ManualClock, SeededIds};

use super::*;

fn limit() -> Obstacle {
    let now = ManualClock::new().now();
    let seen = Sighting {
        run_id: mint(&mut SeededIds::new(1), now.at),
        task_id: mint(&mut SeededIds::new(2), now.at),
        attempt_id: mint(&mut SeededIds::new(3), now.at),
        at: now.at,
    };
    let window = LimitWindow {
        resource: "claude".to_owned(),
        reset: Reset::after(&now, Duration::from_hours(1)),
        basis: ResetBasis::Provider,
        reason: "rate limit".to_owned(),
        seen,
        times: 1,
        resuming: None,
    };
    let waits = WaitReason::Reset(Duration::from_hours(1));
    Obstacle::Limit(Box::new(LimitConflict { window, waits, awaited: "claude".to_owned(), since: None }))
}

fn budget() -> Obstacle {
    let (share, left) = (Amount { cost: MicroUsd(2), tokens: 0 }, Amount::default());
    Obstacle::Budget { fault: BudgetFault::Exhausted { share, left }, passes: true }
}

fn since(known: &Waiting, hindrance: &Obstacle) -> i64 {
    Waiting::since_ms(Some(known), hindrance, 9)
}

#[test]
fn the_time_that_a_task_waited_for_a_limit_does_not_count_against_its_locks() {
    let waiting = |hindrance| Waiting { since_ms: 5, told: String::new(), hindrance };
    assert_eq!(Waiting::since_ms(None, &budget(), 9), 9);
    assert_eq!(since(&waiting(limit()), &budget()), 9);
    assert_eq!(since(&waiting(budget()), &limit()), 9);
    assert_eq!(since(&waiting(budget()), &budget()), 5, "who waits on has waited since then");
    assert_eq!(since(&waiting(limit()), &limit()), 5);
}
