//! Money that nobody accounted for is withheld until someone says what was spent, and no money appears or is lost.

use contract::domain::crew::budget::Amount;
use contract::domain::crew::token::LockToken;
use contract::domain::money::MicroUsd;
use ops::{Result, assignment, budget};
use serde_json::json;

use crate::crew_world::{Crew, denied};
use crate::handoff::round;
use crate::world::key;

fn crew(tasks: usize) -> Crew {
    let mut crew = Crew::new();
    for number in 1..=tasks {
        crew.task(&format!("T-{number}"), &[&format!("src/{number}")], json!({}));
    }
    let limit = budget::set::Request { run: crew.run.clone(), cost: Some(MicroUsd(1000)), tokens: Some(100) };
    budget::set::set(&mut crew.world.cx, &key("person", "budget"), &limit).unwrap();
    crew
}

fn issue(crew: &mut Crew, name: &str, cost: i64, tokens: i64) -> Result<LockToken> {
    let request = assignment::issue::Request {
        task: Some(name.to_owned()),
        owner: Some("worker".to_owned()),
        cost: Some(MicroUsd(cost)),
        tokens: Some(tokens),
        ..Default::default()
    };
    Ok(crew.issue_with(request)?.token)
}

fn settle(
    crew: &mut Crew,
    by: &str,
    task: &str,
    cost: Option<i64>,
    tokens: Option<i64>,
) -> Result<budget::Shares> {
    let (run, task) = (crew.run.clone(), task.to_owned());
    let request = budget::settle::Request { run, task, cost: cost.map(MicroUsd), tokens };
    let id = format!("settle {} {cost:?} {tokens:?}", request.task);
    Ok(budget::settle::settle(&mut crew.world.cx, &key(by, &id), &request)?.answer)
}

/// Reserved, spent, withheld and free, which are the limit together.
fn books(crew: &mut Crew) -> [(i64, i64); 4] {
    let purse = crew.purse();
    let parts = [purse.reserved, purse.spent, purse.withheld, purse.free()];
    assert_eq!(parts.iter().copied().fold(Amount::default(), Amount::plus), purse.limit);
    parts.map(|part| (part.cost.0, part.tokens))
}

#[test]
fn what_a_worker_did_not_report_is_withheld_until_someone_settles_it() {
    let mut crew = crew(2);
    let token = issue(&mut crew, "T-1", 600, 60).unwrap();
    crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
    assert_eq!(books(&mut crew), [(0, 0), (0, 0), (600, 60), (400, 40)]);
    denied(issue(&mut crew, "T-2", 500, 0), "NON_COMPLIANT", "budget_exhausted");
    let shown = budget::show::show(
        &mut crew.world.cx,
        &crate::world::reader(),
        &budget::show::Request { run: crew.run.clone() },
    );
    let withheld = shown.unwrap().withheld_for;
    assert_eq!(withheld.len(), 1);
    assert_eq!((withheld[0].task.as_str(), withheld[0].amount.cost), ("T-1", MicroUsd(600)));
    let shares = settle(&mut crew, "person", "T-1", Some(120), None).unwrap();
    assert_eq!((shares.spent.cost, shares.free.cost), (MicroUsd(120), MicroUsd(880)));
    assert_eq!(books(&mut crew), [(0, 0), (120, 0), (0, 60), (880, 40)], "the tokens are still unknown");
    settle(&mut crew, "person", "T-1", None, Some(60)).unwrap();
    assert_eq!(books(&mut crew), [(0, 0), (120, 60), (0, 0), (880, 40)]);
    issue(&mut crew, "T-2", 500, 0).unwrap();
    crew.holds();
}

#[test]
fn what_is_withheld_must_be_what_a_person_was_shown() {
    let mut crew = crew(2);
    let token = issue(&mut crew, "T-1", 600, 60).unwrap();
    crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
    let (elsewhere, run) = (crew.world.elsewhere(), crew.run.clone());
    crew.world.while_asking(move || {
        let (task, tokens) = ("T-1".to_owned(), Some(60));
        let request = budget::settle::Request { run, task, cost: None, tokens };
        budget::settle::settle(&mut elsewhere(), &key("other", "tokens"), &request).unwrap();
    });
    let refused = settle(&mut crew, "person", "T-1", Some(120), None).unwrap_err();
    assert_eq!(refused.details["rule"], "changed_meanwhile", "{refused}");
    assert_eq!(books(&mut crew), [(0, 0), (0, 60), (600, 0), (400, 40)]);
    settle(&mut crew, "person", "T-1", Some(120), None).unwrap();
    crew.holds();
}

#[test]
fn a_report_of_tokens_says_nothing_about_money() {
    let mut crew = crew(1);
    let token = issue(&mut crew, "T-1", 600, 60).unwrap();
    let mut result = crew.result("T-1", token, "done");
    result["x_tokens"] = json!(50);
    crew.submit(result, Vec::new()).unwrap();
    assert_eq!(books(&mut crew), [(0, 0), (0, 50), (600, 0), (400, 50)]);
    crew.holds();
}

#[test]
fn settling_cannot_make_money() {
    let mut crew = crew(2);
    let token = issue(&mut crew, "T-1", 600, 60).unwrap();
    denied(settle(&mut crew, "person", "T-1", Some(1), None), "NON_COMPLIANT", "nothing_withheld");
    crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
    let before = crew.world.state();
    denied(settle(&mut crew, "person", "T-1", Some(601), None), "NON_COMPLIANT", "settle_above_withheld");
    denied(settle(&mut crew, "person", "T-1", Some(-1), None), "NON_COMPLIANT", "budget_negative");
    denied(settle(&mut crew, "person", "T-2", Some(0), None), "NON_COMPLIANT", "nothing_withheld");
    let code = |answer: Result<budget::Shares>| answer.unwrap_err().code.as_str();
    assert_eq!(code(settle(&mut crew, "person", "T-9", Some(0), None)), "NOT_FOUND");
    assert_eq!(code(settle(&mut crew, "person", "T-1", None, None)), "USAGE");
    crew.world.host.paper.borrow_mut().person_says_no = true;
    assert_eq!(code(settle(&mut crew, "worker", "T-1", Some(0), None)), "DENIED");
    crew.world.host.paper.borrow_mut().person_says_no = false;
    assert_eq!(crew.world.state(), before, "a refusal writes nothing");
    settle(&mut crew, "person", "T-1", Some(0), Some(0)).unwrap();
    settle(&mut crew, "person", "T-1", Some(0), Some(0)).expect("the same request has the same answer");
    denied(settle(&mut crew, "other", "T-1", Some(1), None), "NON_COMPLIANT", "nothing_withheld");
    assert_eq!(books(&mut crew), [(0, 0), (0, 0), (0, 0), (1000, 100)]);
    crew.holds();
}

#[test]
fn withheld_money_travels_with_a_handoff_and_can_be_settled_there() {
    let mut crew = crew(1);
    let token = issue(&mut crew, "T-1", 600, 60).unwrap();
    crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
    let before = books(&mut crew);
    let mut other = round(&mut crew);
    assert_eq!(books(&mut other), before);
    settle(&mut other, "person", "T-1", Some(100), Some(1)).unwrap();
    assert_eq!(books(&mut other), [(0, 0), (100, 1), (0, 0), (900, 99)]);
    other.holds();
}

/// A few hundred steps in a fixed pseudo-random order; the sum is checked after each.
#[test]
fn the_four_parts_are_the_limit_whatever_happens() {
    let mut crew = crew(12);
    let mut open: Vec<(String, LockToken)> = Vec::new();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for step in 0..200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = i64::try_from(seed >> 40).unwrap();
        let name = format!("T-{}", dice % 12 + 1);
        match step % 4 {
            0 => {
                if let Ok(token) = issue(&mut crew, &name, dice % 300, dice % 30) {
                    open.push((name, token));
                }
            }
            1 => {
                if let Some((name, token)) = open.pop() {
                    let mut result = crew.result(&name, token, "done");
                    if dice % 3 == 0 {
                        result["x_cost_micro_usd"] = json!(dice % 100);
                    }
                    // Whether it is accepted does not matter here, only what it does to the money.
                    drop(crew.submit(result, Vec::new()));
                }
            }
            2 => drop(settle(&mut crew, "person", &name, Some(dice % 200), None)),
            _ => drop(settle(&mut crew, "person", &name, None, Some(dice % 20))),
        }
        let parts = books(&mut crew);
        assert!(parts[..3].iter().all(|part| part.0 >= 0 && part.1 >= 0), "step {step}: {parts:?}");
    }
    crew.holds();
}
