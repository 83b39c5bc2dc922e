//! What only a person may decide: confirmed for one exact action, or made with a token of theirs.

use contract::domain::code::ErrorCode;
use contract::domain::money::MicroUsd;
use ops::budget::set;
use ops::{Error, token};
use serde_json::json;

use crate::crew_world::Crew;
use crate::idempotency::new_token;
use crate::world::{World, key, present};

fn raise(crew: &mut Crew, cost: i64, id: &str) -> Result<MicroUsd, Error> {
    let request = set::Request { run: crew.run.clone(), cost: Some(MicroUsd(cost)), tokens: None };
    Ok(set::set(&mut crew.world.cx, &key("w", id), &request)?.answer.limit.cost)
}

fn crew() -> Crew {
    let mut crew = Crew::new();
    crew.task("T-1", &["src"], json!({}));
    crew
}

fn secret(world: &mut World, name: &str, seconds: Option<u64>) -> String {
    let request = token::create::Request { expires_in_seconds: seconds, ..new_token(name) };
    token::create::create(&mut world.cx, &key("person", name), &request).unwrap().answer.secret.unwrap()
}

/// Who made the changes of a kind: the sender and the agent of each event.
pub(crate) fn actors(crew: &Crew, kind: &str) -> Vec<String> {
    let mut store = store::Store::open(&crew.world.temp.path(), crew.world.temp.now().at).unwrap();
    let filter = store::EventFilter {
        kinds: vec![kind.to_owned()],
        oldest_first: true,
        limit: 100,
        ..store::EventFilter::default()
    };
    let events = store.read().unwrap().events(&filter).unwrap();
    events.into_iter().map(|event| format!("{} {}", event.record.from, event.record.agent)).collect()
}

fn rule(error: &Error) -> (ErrorCode, &str) {
    (error.code, error.details["rule"].as_str().unwrap_or_default())
}

#[test]
fn only_raising_a_limit_is_a_persons_decision() {
    let mut crew = crew();
    crew.world.host.paper.borrow_mut().person_says_no = true;
    assert_eq!(raise(&mut crew, 1000, "first").unwrap(), MicroUsd(1000), "a first limit restricts");
    assert_eq!(raise(&mut crew, 900, "lower").unwrap(), MicroUsd(900));
    let before = crew.world.state();
    let refused = raise(&mut crew, 901, "raise").unwrap_err();
    assert_eq!(rule(&refused), (ErrorCode::Denied, "not_confirmed"));
    assert!(crew.world.host.question.borrow().contains("to $0.000901"), "{:?}", crew.world.host.question);
    assert_eq!(crew.world.state(), before);
    crew.world.host.paper.borrow_mut().person_says_no = false;
    assert_eq!(raise(&mut crew, 901, "raise").unwrap(), MicroUsd(901), "a refused call leaves its id usable");
    // The stored answer is given without a person.
    crew.world.host.paper.borrow_mut().person_says_no = true;
    assert_eq!(raise(&mut crew, 901, "raise").unwrap(), MicroUsd(901));
    crew.holds();
}

#[test]
fn a_token_decides_until_it_expires_or_is_revoked_and_is_the_actor() {
    let mut crew = crew();
    raise(&mut crew, 10, "first").unwrap();
    let short = secret(&mut crew.world, "short", Some(60));
    let long = secret(&mut crew.world, "long", None);
    crew.world.host.paper.borrow_mut().person_says_no = true;
    present(&short);
    assert_eq!(raise(&mut crew, 20, "a").unwrap(), MicroUsd(20));
    crew.world.clock().advance(std::time::Duration::from_secs(60));
    assert_eq!(rule(&raise(&mut crew, 30, "b").unwrap_err()), (ErrorCode::Denied, "token_expired"));
    present(&format!("{long}\n"));
    assert_eq!(raise(&mut crew, 30, "b").unwrap(), MicroUsd(30));
    let revoke = token::revoke::Request { token: "long".to_owned() };
    token::revoke::revoke(&mut crew.world.cx, &key("anyone", "revoke"), &revoke).unwrap();
    assert_eq!(rule(&raise(&mut crew, 40, "c").unwrap_err()), (ErrorCode::Denied, "token_revoked"));
    let last = if long.ends_with('0') { '1' } else { '0' };
    let forged = [&long[..long.len() - 1], &last.to_string()].concat();
    for wrong in [forged.as_str(), "writ_x", "", "sha256:0"] {
        present(wrong);
        assert_eq!(
            rule(&raise(&mut crew, 40, "c").unwrap_err()),
            (ErrorCode::Denied, "token_unknown"),
            "{wrong}"
        );
    }
    let listed = token::list::list(&mut crew.world.cx, &token::list::Request {}).unwrap();
    let used: Vec<_> =
        listed.tokens.iter().map(|token| (token.name.as_str(), token.last_used_at.is_some())).collect();
    assert_eq!(used, [("short", true), ("long", true)]);
    let (rows, _) = crew.world.state();
    assert_eq!(
        actors(&crew, "budget_set"),
        ["agent.w w", "service.token.short token.short", "service.token.long token.long"]
    );
    for secret in [&short, &long] {
        let digits = secret.rsplit('_').next().unwrap();
        assert!(!rows.iter().any(|row| row.contains(digits)), "only its digest is stored");
        assert!(!serde_json::to_string(&listed).unwrap().contains(digits));
    }
    crew.holds();
}

#[test]
fn a_token_cannot_create_another_one() {
    let mut world = World::new();
    let own = secret(&mut world, "one", None);
    world.host.paper.borrow_mut().person_says_no = true;
    present(&own);
    let error = token::create::create(&mut world.cx, &key("w", "two"), &new_token("two")).unwrap_err();
    assert_eq!(rule(&error), (ErrorCode::Denied, "not_confirmed"));
    world.host.paper.borrow_mut().person_says_no = false;
    let error = token::create::create(&mut world.cx, &key("w", "one"), &new_token("one")).unwrap_err();
    assert_eq!(error.code, ErrorCode::AlreadyExists);
}

fn changed_meanwhile<A: std::fmt::Debug>(answer: Result<A, Error>) {
    assert_eq!(rule(&answer.unwrap_err()), (ErrorCode::VersionConflict, "changed_meanwhile"));
}

#[test]
fn a_limit_that_changes_while_a_person_thinks_is_not_raised() {
    let mut crew = crew();
    raise(&mut crew, 1000, "first").unwrap();
    let (elsewhere, run) = (crew.world.elsewhere(), crew.run.clone());
    crew.world.while_asking(move || {
        let lower = set::Request { run, cost: Some(MicroUsd(500)), tokens: None };
        set::set(&mut elsewhere(), &key("other", "lower"), &lower).unwrap();
    });
    changed_meanwhile(raise(&mut crew, 2000, "raise"));
    assert_eq!(crew.purse().limit.cost, MicroUsd(500));
    assert!(crew.world.host.question.borrow().contains("from $0.001 "), "{:?}", crew.world.host.question);
    assert_eq!(raise(&mut crew, 2000, "raise").unwrap(), MicroUsd(2000), "the same request, confirmed anew");
    assert!(crew.world.host.question.borrow().contains("from $0.0005 "), "{:?}", crew.world.host.question);
    crew.holds();
}

#[test]
fn a_request_that_needed_no_person_is_refused_if_it_would_need_one_by_now() {
    let mut crew = crew();
    raise(&mut crew, 1000, "first").unwrap();
    let (elsewhere, run) = (crew.world.elsewhere(), crew.run.clone());
    crew.world.while_asking(move || {
        let raised = set::Request { run, cost: Some(MicroUsd(3000)), tokens: None };
        set::set(&mut elsewhere(), &key("other", "raise"), &raised).unwrap();
    });
    changed_meanwhile(raise(&mut crew, 2000, "raise"));
    assert_eq!(crew.purse().limit.cost, MicroUsd(3000));
    crew.holds();
}

#[test]
fn a_store_that_changes_while_a_person_looks_at_it_is_not_sealed() {
    let mut world = World::new();
    world.task("one");
    let (own, aside) = (store::StoreKey::path_of(&world.temp.path()), world.temp.scratch().join("aside"));
    std::fs::rename(&own, &aside).unwrap();
    let request = ops::audit::reseal::Request { reason: Some("restored".to_owned()) };
    let (elsewhere, key_file) = (world.elsewhere(), own.clone());
    world.while_asking(move || {
        std::fs::rename(&aside, &key_file).unwrap();
        let two = crate::world::create("two");
        ops::task::create::create(&mut elsewhere(), &key("bob", "two"), &two).unwrap();
        std::fs::rename(&key_file, &aside).unwrap();
    });
    changed_meanwhile(ops::audit::reseal::reseal(&mut world.cx, &key("person", "seal"), &request));
    assert!(!own.exists(), "no key is left behind by a sealing that did not happen");
    let sealed = ops::audit::reseal::reseal(&mut world.cx, &key("person", "seal"), &request).unwrap().answer;
    assert!(sealed.resealed && own.exists());
    assert!(ops::audit::verify(&mut world.cx, None).unwrap().is_clean());
    world.task("three");
}
