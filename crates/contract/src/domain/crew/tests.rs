use std::time::Duration;

use super::approval::{Approval, ApprovalState, Filed, NotApproved};
use super::budget::{Amount, Booking, BudgetFault, Purse, SettleFault, Settled, Spent, settle};
use super::lock::{HeldLock, lease, obstacle, place};
use super::snapshot::{Snapshot, SnapshotChanges, compare};
use super::*;
use crate::domain::crew::lock::LockMode;
use crate::domain::id::Id;
use crate::domain::money::MicroUsd;
use crate::domain::scope::Scope;
use crate::domain::time::{BootTime, Lease, Now, Timestamp};

fn now(seconds: i64) -> Now {
    let boot = BootTime { boot_id: "b".to_owned(), millis: seconds * 1000 };
    Now { at: Timestamp::from_millis(seconds * 1000), boot }
}

fn amount(cost: i64, tokens: i64) -> Amount {
    Amount { cost: MicroUsd(cost), tokens }
}

#[test]
fn only_the_plain_spelling_of_a_number_names_a_plans_task() {
    let number = |text: &str| number_of(&TaskRef::parse(text).unwrap());
    assert_eq!(number("T-12"), Some(12));
    assert_eq!(number("T-0"), Some(0));
    for other in ["T-012", "T-99999999999999999999", "3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4"] {
        assert_eq!(number(other), None, "{other}");
    }
    assert_eq!(reference_of(12).as_str(), "T-12");
}

#[test]
fn a_lock_holds_until_the_end_of_its_timeout() {
    let lease = lease(&now(0), Duration::from_mins(1));
    assert!(lease.is_live(&now(60)));
    let mut late = now(60);
    late.boot.millis += 1;
    assert!(!lease.is_live(&late));
}

#[test]
fn scopes_of_nested_workspaces_have_one_absolute_path() {
    let scope = |text: &str| Scope::parse(text, None).unwrap();
    let lock = HeldLock {
        token: 1,
        run_id: Id::from_bits(1),
        task_id: Id::from_bits(1),
        reference: reference_of(1),
        workspace: "/srv/repo".to_owned(),
        scope: scope("src"),
        place: place("/srv/repo", &scope("src")).unwrap(),
        mode: LockMode::Exclusive,
        active: true,
        timeout_ms: 1,
        lease: Lease { boot_id: "gone".to_owned(), until_millis: 0 },
        holder: None,
        granted_at: Timestamp::from_millis(0),
        released_at: None,
        release_reason: None,
    };
    let inner = place("/srv/repo/src", &scope("a.rs")).unwrap();
    let other = Id::from_bits(2);
    let wanted = [(inner, LockMode::Exclusive)];
    // Its lease has expired, and it still conflicts.
    assert!(obstacle(&other, &wanted, std::slice::from_ref(&lock), false).is_some());
    assert!(obstacle(&lock.task_id, &wanted, std::slice::from_ref(&lock), false).is_none());
    assert_eq!(place("/", &scope("etc")).unwrap().as_str(), "/etc");
    assert_eq!(place("/srv", &scope(".")).unwrap().as_str(), "/srv");
}

#[test]
fn only_free_budget_can_be_reserved() {
    let purse = Purse {
        limit: amount(100, 10),
        reserved: amount(30, 3),
        spent: amount(30, 3),
        withheld: amount(10, 1),
    };
    assert_eq!(purse.free(), amount(30, 3));
    assert_eq!(purse.decide_reserve(Some(amount(30, 3))), Ok(amount(30, 3)));
    let exhausted = |share: Amount| Err(BudgetFault::Exhausted { share, left: amount(30, 3) });
    for (share, told) in [
        (amount(31, 0), "the task may spend $0.000031, but only $0.00003 is left"),
        (amount(0, 4), "the task may use 4 tokens, but only 3 are left"),
    ] {
        let refused = purse.decide_reserve(Some(share));
        assert_eq!(refused, exhausted(share));
        assert_eq!(refused.unwrap_err().to_string(), told);
    }
    assert_eq!(purse.decide_reserve(Some(amount(-1, 0))), Err(BudgetFault::Negative));
    assert_eq!(purse.decide_reserve(None), Err(BudgetFault::NoShare));
    assert_eq!(purse.decide_limit(amount(69, 10)), Err(BudgetFault::BelowUse));
}

#[test]
fn what_nobody_reported_is_withheld() {
    let reserved = amount(100, 10);
    let booked = |spent: Spent| spent.of(reserved);
    assert_eq!(booked(Spent::default()), Booking { spent: amount(0, 0), withheld: reserved });
    assert_eq!(booked(Spent::NOTHING), Booking { spent: amount(0, 0), withheld: amount(0, 0) });
    let only_cost = Spent { cost: Some(MicroUsd(30)), tokens: None };
    assert_eq!(booked(only_cost), Booking { spent: amount(30, 0), withheld: amount(0, 10) });
    assert_eq!(only_cost.or_nothing_if(true), Spent { tokens: Some(0), ..only_cost });
    assert_eq!(only_cost.or_nothing_if(false), only_cost);
}

#[test]
fn settling_ends_withheld_amounts_and_adds_no_money() {
    let withheld = [amount(100, 10), amount(50, 5)];
    let cost = |cost| Spent { cost: Some(MicroUsd(cost)), tokens: None };
    let part = |ended, spent| Settled { withheld: amount(ended, 0), spent: amount(spent, 0) };
    assert_eq!(settle(&withheld, cost(120)), Ok(vec![part(100, 100), part(50, 20)]));
    assert_eq!(settle(&withheld, cost(0)), Ok(vec![part(100, 0), part(50, 0)]));
    assert_eq!(settle(&withheld, cost(150)), Ok(vec![part(100, 100), part(50, 50)]));
    assert_eq!(settle(&withheld, cost(151)), Err(SettleFault::AboveWithheld));
    assert_eq!(settle(&withheld, cost(-1)), Err(SettleFault::Negative));
    assert_eq!(settle(&[], cost(0)), Err(SettleFault::NothingWithheld));
    assert_eq!(settle(&[amount(0, 5)], cost(0)), Err(SettleFault::NothingWithheld));
    let both = Spent { cost: Some(MicroUsd(10)), tokens: Some(12) };
    let settled = settle(&withheld, both).unwrap();
    assert_eq!(settled[0], Settled { withheld: amount(100, 10), spent: amount(10, 10) });
    assert_eq!(settled[1], Settled { withheld: amount(50, 5), spent: amount(0, 2) });
}

#[test]
fn an_approval_is_for_one_action_once_and_in_time() {
    let asked = Approval {
        id: Id::from_bits(1),
        run_id: Id::from_bits(1),
        task_id: Id::from_bits(1),
        action: "a".to_owned(),
        action_digest: "d".to_owned(),
        requested_by: "r".to_owned(),
        deadline: Timestamp::from_millis(10_000),
        lease: Lease::starting(&now(0), Duration::from_secs(10)),
    };
    let filed = |state| Filed {
        asked: asked.clone(),
        state,
        decided_by: None,
        reason: None,
        used_by: None,
        requested_at: Timestamp::from_millis(0),
    };
    let granted = filed(ApprovalState::Granted);
    assert_eq!(granted.admit("d", &now(9)), Ok(()));
    assert_eq!(granted.admit("e", &now(9)), Err(NotApproved::OtherAction));
    assert_eq!(granted.admit("d", &now(10)), Err(NotApproved::Expired));
    // A wall clock that is set back does not revive it.
    let back = Now { at: Timestamp::from_millis(0), ..now(11) };
    assert_eq!(granted.admit("d", &back), Err(NotApproved::Expired));
    assert_eq!(filed(ApprovalState::Pending).admit("d", &now(1)), Err(NotApproved::Pending));
    assert_eq!(filed(ApprovalState::Denied).admit("d", &now(1)), Err(NotApproved::Denied));
    assert_eq!(filed(ApprovalState::Used).admit("d", &now(1)), Err(NotApproved::Used));
    assert_eq!(filed(ApprovalState::Pending).decide(true, &now(10)), Err(NotApproved::Expired));
    assert_eq!(granted.decide(true, &now(1)), Err(NotApproved::Granted));
    assert_eq!(granted.decide(false, &now(1)), Ok(()), "a grant that was not used can be taken back");
    assert_eq!(filed(ApprovalState::Used).decide(false, &now(1)), Err(NotApproved::Used));
}

#[test]
fn actual_changes_are_compared_with_claimed_ones() {
    let of = |files: &[(&str, &str)]| Snapshot {
        files: files.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect(),
        ..Snapshot::default()
    };
    let before = of(&[("src/a", "1"), ("src/b", "1"), ("src/gone", "1")]);
    let after = of(&[("src/a", "2"), ("src/b", "1"), ("src/dir/new", "1")]);
    let claimed = ["src/a", "src/b", "src/dir"].map(str::to_owned).into();
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = SnapshotChanges {
        seen: strings(&["src/a", "src/dir/new", "src/gone"]),
        undeclared: strings(&["src/gone"]),
        unseen: strings(&["src/b"]),
        ..SnapshotChanges::default()
    };
    assert_eq!(compare(&before, &after, &claimed), expected);
}
