//! The token of an assignment proves itself, is stored nowhere, and decides who acts.

use contract::domain::crew::token::LockToken;
use ops::{Error, assignment, handoff, heartbeat, lock, result, worklog};
use serde_json::{Value, json};

use crate::crew_world::{Crew, WORKSPACE, denied};
use crate::decisions::actors;
use crate::handoff::exported;
use crate::world::key;

fn crew() -> Crew {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    crew.task("T-2", &["b"], json!({}));
    crew
}

/// The same number with another proof.
fn forged(token: LockToken) -> LockToken {
    let text = token.to_string();
    let last = if text.ends_with('0') { "1" } else { "0" };
    [&text[..text.len() - 1], last].concat().parse().unwrap()
}

type Act = fn(&mut Crew, LockToken) -> Result<(), Error>;

/// Every verb that acts under the token of T-1's assignment.
const VERBS: &[(&str, Act)] = &[
    ("heartbeat.send", |crew, token| {
        let request = heartbeat::Request {
            run: crew.run.clone(),
            task: "T-1".to_owned(),
            token: Some(token),
            at: None,
        };
        heartbeat::send(&mut crew.world.cx, &crate::world::key("eve", "repeatable"), &request).map(drop)
    }),
    ("lock.renew", |crew, token| {
        let request = lock::renew::Request { run: crew.run.clone(), task: "T-1".to_owned(), token };
        lock::renew::renew(&mut crew.world.cx, &crate::world::key("eve", "repeatable"), &request).map(drop)
    }),
    ("worklog.append", |crew, token| {
        let entry =
            json!({"action": "a", "files_touched": [], "decision": "d", "result": "r", "next_step": "n"});
        let (key, run, task) = (crew.key(), crew.run.clone(), "T-1".to_owned());
        let request = worklog::append::Request { run, task, token: Some(token), entry, strict: false };
        worklog::append::append(&mut crew.world.cx, &key, &request).map(drop)
    }),
    ("result.submit", |crew, token| {
        let key = crew.key();
        crew.paper().checks = Some(Vec::new());
        let mut document = crew.result("T-1", token, "done");
        document["x_token"] = json!(token);
        let request =
            result::submit::Request { document, token: None, cost: None, tokens: None, strict: false };
        result::submit::submit(&mut crew.world.cx, &key, &request).map(drop)
    }),
];

#[test]
fn a_forged_a_bare_and_a_stolen_token_are_refused_by_every_verb() {
    for (name, act) in VERBS {
        let mut crew = crew();
        let token = crew.issue("T-1").unwrap().token;
        let other = crew.issue("T-2").unwrap().token;
        let before = crew.world.state();
        denied(act(&mut crew, forged(token)), "NON_COMPLIANT", "token_forged");
        denied(act(&mut crew, other), "NON_COMPLIANT", "token_forged");
        denied(act(&mut crew, token.number.into()), "MISSING_REQUIRED_INPUT", "token_unproved");
        assert_eq!(crew.world.state(), before, "{name}: a refusal writes nothing");
        act(&mut crew, token).unwrap_or_else(|error| panic!("{name}: {error}"));
        crew.holds();
    }
}

#[test]
fn a_token_of_an_earlier_assignment_is_stale_and_one_below_the_floor_is_dead() {
    for (name, act) in VERBS {
        let mut crew = crew();
        let old = crew.issue("T-1").unwrap().token;
        crew.world.clock().advance(std::time::Duration::from_secs(61));
        crew.sweep();
        let anew =
            json!([{"task_id": "T-1", "status": "todo", "owner": "", "reason": "r", "delta_id": "anew"}]);
        crew.apply(crew.envelope(anew), false).unwrap();
        let token = crew.issue("T-1").unwrap().token;
        denied(act(&mut crew, old), "CONCURRENCY_CONFLICT", "stale_fencing_token");
        let raise = |crew: &Crew, floor: i64| {
            let mut store = store::Store::open(&crew.world.temp.path(), crew.world.temp.now().at).unwrap();
            let tx = store.begin().unwrap();
            tx.raise_number("fencing_floor", floor).unwrap();
            tx.commit().unwrap();
        };
        raise(&crew, token.number);
        denied(act(&mut crew, old), "CONCURRENCY_CONFLICT", "token_dead");
        raise(&crew, token.number + 1);
        denied(act(&mut crew, token), "CONCURRENCY_CONFLICT", "token_dead");
        assert!(!name.is_empty());
    }
}

#[test]
fn a_repeated_assignment_has_the_same_token_although_the_store_holds_none() {
    let mut crew = crew();
    let request = assignment::issue::Request {
        run: crew.run.clone(),
        task: Some("T-1".to_owned()),
        owner: Some("w1".to_owned()),
        ..Default::default()
    };
    let issue = |crew: &mut Crew| {
        assignment::issue::issue(&mut crew.world.cx, &key("boss", "issue"), &request).unwrap()
    };
    let (first, again) = (issue(&mut crew), issue(&mut crew));
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.answer, again.answer);
    assert_eq!(first.answer.packet["x_token"], json!(first.answer.token));
    let proof = first.answer.token.proof().unwrap().to_owned();
    let has = |crew: &Crew| {
        let files = ops::files_of(&crew.world.temp.path()).unwrap();
        let held = |path: &std::path::PathBuf| {
            std::fs::read(path).unwrap().windows(proof.len()).any(|part| part == proof.as_bytes())
        };
        files.iter().any(held)
    };
    assert!(!has(&crew), "a file of the store holds the token");
    for (name, act) in VERBS {
        act(&mut crew, first.answer.token).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!has(&crew), "{name} stored the token");
    }
    let shown = assignment::show::Request { run: crew.run.clone(), task: "T-1".to_owned() };
    let shown = assignment::show::show(&mut crew.world.cx, &shown).unwrap();
    let locks = lock::list::Request { run: Some(crew.run.clone()), history: true };
    let locks = lock::list::list(&mut crew.world.cx, &locks).unwrap();
    for document in [json!(shown), json!(locks), crew.show()] {
        assert!(!document.to_string().contains(&proof), "{document}");
    }
}

#[test]
fn the_actor_is_the_worker_of_the_assignment_whatever_name_the_caller_gives() {
    let mut crew = crew();
    let request = assignment::issue::Request {
        task: Some("T-1".to_owned()),
        owner: Some("w1".to_owned()),
        ..Default::default()
    };
    let token = crew.issue_with(request).unwrap().token;
    let append = |crew: &mut Crew, actor: Option<&str>| {
        let mut entry =
            json!({"action": "a", "files_touched": [], "decision": "d", "result": "r", "next_step": "n"});
        if let Some(actor) = actor {
            entry["actor"] = json!(actor);
        }
        let (key, run, task) = (crew.key(), crew.run.clone(), "T-1".to_owned());
        let request = worklog::append::Request { run, task, token: Some(token), entry, strict: false };
        Ok::<Value, Error>(
            worklog::append::append(&mut crew.world.cx, &key, &request)?.answer.entry["actor"].clone(),
        )
    };
    assert_eq!(append(&mut crew, None).unwrap(), "w1");
    assert_eq!(append(&mut crew, Some("W1")).unwrap(), "W1");
    denied(append(&mut crew, Some("orchestrator")), "NON_COMPLIANT", "identity_mismatch");
    crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
    assert_eq!(actors(&crew, "worklog_appended"), ["agent.w1 w1", "agent.w1 w1"]);
    assert_eq!(actors(&crew, "result_accepted"), ["agent.w1 w1"]);
}

#[test]
fn locks_that_a_task_holds_are_replaced_only_by_their_holder() {
    let mut crew = crew();
    let first = crew.acquire("T-1", &["a"]).unwrap();
    let again = |crew: &mut Crew, token: Option<LockToken>| {
        crew.acquire_with(lock::acquire::Request {
            run: crew.run.clone(),
            task: "T-1".to_owned(),
            resources: vec!["c".to_owned()],
            shared: false,
            timeout_seconds: Some(60),
            token,
        })
    };
    denied(again(&mut crew, None), "MISSING_REQUIRED_INPUT", "missing");
    denied(again(&mut crew, Some(forged(first))), "NON_COMPLIANT", "token_forged");
    let second = again(&mut crew, Some(first)).unwrap();
    assert!(second.number > first.number);
    denied(again(&mut crew, Some(first)), "CONCURRENCY_CONFLICT", "stale_fencing_token");
    // A holder whose lease is over holds nothing that a stranger could take from it.
    crew.world.clock().advance(std::time::Duration::from_secs(61));
    again(&mut crew, None).unwrap();
}

#[test]
fn a_bundle_has_the_digest_of_a_token_and_its_worker_goes_on_with_the_token() {
    let mut crew = crew();
    let token = crew.issue("T-1").unwrap().token;
    let bundle = exported(&mut crew, false).unwrap().document;
    assert!(!bundle.to_string().contains(token.proof().unwrap()), "{bundle}");
    assert_eq!(bundle["x_assignments"][0]["token_hash"], json!(token.hash()));
    // The other store has used the number for something else.
    let mut other = Crew::new();
    other.run = "3f56dc4d-35cf-4f97-925c-0000000000aa".to_owned();
    other.workspace = "/srv/elsewhere".to_owned();
    other.task("T-1", &["x"], json!({}));
    other.issue("T-1").unwrap();
    other.run.clone_from(&crew.run);
    let request = serde_json::from_value(json!({"document": bundle, "workspace": WORKSPACE})).unwrap();
    let key = other.key();
    let answer = handoff::import::import(&mut other.world.cx, &key, &request).unwrap().answer;
    assert!(answer.tokens_raised_by > 0);
    let (heartbeat, submit) = (VERBS[0].1, VERBS[3].1);
    denied(heartbeat(&mut other, forged(token)), "NON_COMPLIANT", "token_forged");
    heartbeat(&mut other, token).unwrap();
    let own: LockToken = answer.tasks[0]["token"].as_str().unwrap().parse().unwrap();
    assert_ne!(own.to_string(), token.to_string());
    heartbeat(&mut other, own).unwrap();
    submit(&mut other, token).unwrap();
    other.holds();
}

#[test]
fn a_number_that_an_earlier_version_gave_out_is_still_its_token() {
    let mut crew = crew();
    let token = crew.issue("T-1").unwrap().token;
    let mut store = store::Store::open(&crew.world.temp.path(), crew.world.temp.now().at).unwrap();
    let tx = store.begin().unwrap();
    tx.raise_number("fencing_plain", token.number).unwrap();
    tx.commit().unwrap();
    for (name, act) in VERBS {
        act(&mut crew, token.number.into()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let later = crew.issue("T-2").unwrap().token;
    let request = heartbeat::Request {
        run: crew.run.clone(),
        task: "T-2".to_owned(),
        token: Some(later.number.into()),
        at: None,
    };
    let refused = heartbeat::send(&mut crew.world.cx, &crate::world::key("w", "repeatable"), &request);
    denied(refused, "MISSING_REQUIRED_INPUT", "token_unproved");
}
