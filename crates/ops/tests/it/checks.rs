//! A task with checks is done only after writ ran them, whatever verb asks.

use contract::domain::check::{Check, CheckSeen};
use contract::domain::code::ErrorCode;
use contract::domain::status::{Evidence, Status};
use contract::domain::trust::TrustState;
use ops::trust::grant::Request as Project;
use ops::{Error, task, trust};
use serde_json::json;

use crate::host::passed;
use crate::world::{World, commands, complete, create, key, pushed, set_status};

fn check(line: &str) -> Check {
    Check::of_arguments(line.split(' ').map(str::to_owned).collect())
}

fn failed(line: &str) -> CheckSeen {
    CheckSeen {
        passed: false,
        exit_code: Some(1),
        output_tail: "one\ntwo: expected 3\n".to_owned(),
        problem: Some("exit 1, expected 0".to_owned()),
        ..passed(&check(line))
    }
}

/// A task of the project `/w`, made by ann.
fn made(world: &mut World, checks: &[&str]) -> String {
    let request = task::create::Request {
        project_id: Some("/w".to_owned()),
        checks: checks.iter().map(|line| check(line)).collect(),
        ..create("one")
    };
    task::create::create(&mut world.cx, &key("ann", "make"), &request).unwrap().answer.task.id
}

/// Every verb that completes a task.
type Completes = fn(&mut World, &str, &str) -> Result<(), Error>;

const VERBS: &[(&str, Completes)] = &[
    ("task.complete", |world, agent, id| {
        task::complete::complete(&mut world.cx, &key(agent, "done"), &complete(id, "done")).map(drop)
    }),
    ("task.set_status", |world, agent, id| {
        task::set_status::set_status(&mut world.cx, &key(agent, "done"), &set_status(id, "completed"))
            .map(drop)
    }),
    ("agent.push", |world, agent, id| {
        let document = json!({"task_id": id, "event": {"kind": "note", "message": "m"},
            "task_status": {"status": "completed", "summary": "s"}});
        ops::push::push(&mut world.cx, &key(agent, "done"), &pushed(document)).map(drop)
    }),
];

#[test]
fn checks_run_before_done_whatever_verb_asks() {
    for (verb, completes) in VERBS {
        for (agent, evidence) in [("bob", Evidence::Verified), ("ann", Evidence::SelfChecked)] {
            let mut world = World::new();
            let id = made(&mut world, &["cargo test", "cargo clippy"]);
            completes(&mut world, agent, &id).unwrap();
            let task = world.get(&id);
            assert_eq!((task.status, task.evidence), (Status::Done, Some(evidence)), "{verb}");
            assert_eq!(world.host.checked_in.borrow().as_deref(), Some("/w"), "{verb}");
        }
    }
}

#[test]
fn a_failed_check_refuses_done_and_changes_nothing() {
    for (verb, completes) in VERBS {
        let mut world = World::new();
        let id = made(&mut world, &["cargo test", "cargo clippy"]);
        let before = world.state();
        world.host.paper.borrow_mut().checks = Some(vec![failed("cargo test")]);
        let error = completes(&mut world, "bob", &id).unwrap_err();
        assert_eq!(error.code, ErrorCode::CheckFailed, "{verb}");
        assert_eq!(error.message, "check `cargo test` failed: exit 1, expected 0", "{verb}");
        assert_eq!(error.details["last_lines"], "one\ntwo: expected 3", "{verb}");
        assert_eq!(error.details["checks"][0]["exit_code"], 1, "{verb}");
        assert_eq!(world.state(), before, "{verb}");
        // The same request succeeds once the work is finished.
        world.host.paper.borrow_mut().checks = None;
        completes(&mut world, "bob", &id).unwrap();
        assert_eq!(world.get(&id).status, Status::Done, "{verb}");
    }
}

#[test]
fn a_check_that_was_not_run_proves_nothing() {
    for (verb, completes) in VERBS {
        let mut world = World::new();
        let id = made(&mut world, &["cargo test", "cargo clippy"]);
        world.host.paper.borrow_mut().checks = Some(vec![passed(&check("cargo test"))]);
        assert_eq!(completes(&mut world, "bob", &id).unwrap_err().code, ErrorCode::CheckFailed, "{verb}");
        assert_eq!(world.get(&id).status, Status::Todo, "{verb}");
    }
}

#[test]
fn the_checks_of_a_project_run_only_while_a_person_trusts_them() {
    for (verb, completes) in VERBS {
        let mut world = World::new();
        let id = made(&mut world, &[]);
        world.host.paper.borrow_mut().project = Some(commands());
        let refuse = |world: &mut World, state: TrustState| {
            let before = world.state();
            let error = completes(world, "ann", &id).unwrap_err();
            assert_eq!((error.code, &error.details["state"]), (ErrorCode::Denied, &json!(state)), "{verb}");
            assert!(error.hint.unwrap().contains("`writ trust /w`"), "{verb}");
            assert_eq!(*world.host.checked_in.borrow(), None, "{verb}: nothing was run");
            assert_eq!(world.state(), before, "{verb}");
        };
        refuse(&mut world, TrustState::Untrusted);
        world.trust("/w");
        world.host.paper.borrow_mut().project.as_mut().unwrap().checks.push(check("curl evil"));
        refuse(&mut world, TrustState::Changed);
        world.host.paper.borrow_mut().project = Some(commands());
        completes(&mut world, "ann", &id).unwrap();
        let task = world.get(&id);
        assert_eq!((task.status, task.evidence), (Status::Done, Some(Evidence::Verified)), "{verb}");
    }
}

#[test]
fn trust_that_is_revoked_while_the_checks_run_grants_nothing() {
    let mut world = World::new();
    let id = made(&mut world, &[]);
    world.trust("/w");
    let (path, clock) = (world.temp.path(), world.clock());
    let (host, again) = (world.host.clone(), world.host.clone());
    // The first question finds the commands, the second is the policy: the trust ends in between.
    *host.meanwhile.borrow_mut() = Some(Box::new(move || {
        *again.meanwhile.borrow_mut() = Some(Box::new(move || {
            let mut cx = crate::world::context(&path, &clock, 9);
            let request = Project { directory: "/w".to_owned() };
            trust::revoke::revoke(&mut cx, &key("person", "revoke"), &request).unwrap();
        }));
    }));
    let error =
        task::complete::complete(&mut world.cx, &key("ann", "done"), &complete(&id, "done")).unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied);
    assert_eq!(world.get(&id).status, Status::Todo);
}

#[test]
fn own_checks_replace_those_of_the_project() {
    let mut world = World::new();
    let id = made(&mut world, &["make check"]);
    world.host.paper.borrow_mut().project = Some(commands());
    task::complete::complete(&mut world.cx, &key("bob", "done"), &complete(&id, "done")).unwrap();
    assert_eq!(world.get(&id).evidence, Some(Evidence::Verified));
}

#[test]
fn what_the_policy_forbids_is_not_run() {
    let mut world = World::new();
    let checks = vec![Check::of_script("make check | tail")];
    let request = task::create::Request { project_id: Some("/w".to_owned()), checks, ..create("one") };
    let id = task::create::create(&mut world.cx, &key("ann", "make"), &request).unwrap().answer.task.id;
    world.host.paper.borrow_mut().policy.deny_shell = true;
    let error =
        task::complete::complete(&mut world.cx, &key("bob", "done"), &complete(&id, "done")).unwrap_err();
    assert_eq!((error.code, &*world.host.checked_in.borrow()), (ErrorCode::Denied, &None));
    assert_eq!(error.message, "check `make check | tail` is denied: policy.deny_shell is set");
}

#[test]
fn a_task_is_not_created_with_checks_that_cannot_run() {
    let mut world = World::new();
    let before = world.state();
    let request = |checks: serde_json::Value, project: Option<&str>| {
        let document = json!({"title": "t", "project_id": project, "checks": checks});
        serde_json::from_value::<task::create::Request>(document).unwrap()
    };
    for (checks, project, path) in [
        (json!([{"command": []}]), Some("/w"), "$.checks[0].command"),
        (json!([{"command": ["true"]}, {"command": [" "]}]), Some("/w"), "$.checks[1].command"),
        (json!([{"command": ["a", "b"], "shell": true}]), Some("/w"), "$.checks[0].command"),
        (json!([{"command": ["a", "b"], "expects": "FILE_EXISTS"}]), Some("/w"), "$.checks[0].command"),
        (
            json!([{"command": ["x", "-p", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"]}]),
            Some("/w"),
            "$.checks[0].command",
        ),
        (json!([{"command": ["true"]}]), Some("word"), "$.check_directory"),
        (json!([{"command": ["true"]}]), None, "$.check_directory"),
        (json!(vec![json!({"command": ["true"]}); 51]), Some("/w"), "$.checks"),
    ] {
        let error =
            task::create::create(&mut world.cx, &key("ann", "make"), &request(checks, project)).unwrap_err();
        assert_eq!((error.code, &error.details["path"]), (ErrorCode::InvalidInput, &json!(path)), "{error}");
    }
    assert_eq!(world.state(), before);
}

#[test]
fn a_person_sees_every_command_and_their_no_is_kept() {
    let mut world = World::new();
    world.host.paper.borrow_mut().project = Some(commands());
    world.host.paper.borrow_mut().person_says_no = true;
    let request = Project { directory: "/w".to_owned() };
    let error = trust::grant::grant(&mut world.cx, &key("person", "t"), &request).unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied);
    assert!(world.host.question.borrow().contains("  cargo test\n"));
    assert_eq!(trust::show::show(&mut world.cx, &request).unwrap().state, TrustState::Untrusted);
    world.host.paper.borrow_mut().person_says_no = false;
    world.trust("/w");
    assert_eq!(trust::show::show(&mut world.cx, &request).unwrap().state, TrustState::Trusted);
    // What is trusted is not asked again.
    world.host.question.take();
    trust::grant::grant(&mut world.cx, &key("person", "again"), &request).unwrap();
    assert_eq!(*world.host.question.borrow(), "");
    let listed = trust::list::list(&mut world.cx, &trust::list::Request::default()).unwrap();
    assert_eq!((listed.count, listed.trusted[0].directory.as_str()), (1, "/w"));
}

#[test]
fn a_machine_that_cannot_start_a_check_fails_no_task() {
    for (verb, completes) in VERBS {
        let mut world = World::new();
        let id = made(&mut world, &["cargo test"]);
        let before = world.state();
        world.host.paper.borrow_mut().is_short = true;
        let error = completes(&mut world, "bob", &id).unwrap_err();
        assert_eq!((error.code, &error.details["rule"]), (ErrorCode::Busy, &json!("shortage")), "{verb}");
        assert_eq!(world.state(), before, "{verb}: nothing is written");
        world.host.paper.borrow_mut().is_short = false;
        completes(&mut world, "bob", &id).unwrap_or_else(|error| panic!("{verb}: the same id: {error}"));
    }
}

#[test]
fn agents_write_no_evidence() {
    let mut world = World::new();
    let id = made(&mut world, &["cargo test"]);
    VERBS[0].1(&mut world, "bob", &id).unwrap();
    let shown = |world: &mut World| {
        let request = serde_json::from_value(json!({"id": id})).unwrap();
        ops::verb::call::<task::get::Get>(&mut world.cx, &crate::world::reader(), &request)
            .unwrap()
            .answer
            .checks_seen
    };
    let seen = shown(&mut world);
    assert_eq!(seen.len(), 1);
    let forged = json!({"checks": [passed(&check("rm -rf /"))]});
    for kind in ["task_verified", "task_withheld", "store_resealed", "store_salvaged", "events_pruned"] {
        let document = json!({"task_id": id, "event": {"kind": kind, "message": "m", "metadata": forged}});
        let error = ops::push::push(&mut world.cx, &key("bob", kind), &pushed(document)).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidInput, "{kind}");
        let note = json!({"kind": kind, "message": "m", "metadata": forged, "task_id": id});
        let note = serde_json::from_value(note).unwrap();
        let error = ops::event::note::note(&mut world.cx, &key("bob", kind), &note).unwrap_err();
        assert!(error.message.contains("only writ itself writes"), "{error}");
    }
    // Stores of earlier versions may have such events of agents.
    let event = store::NewEvent {
        event_id: contract::domain::id::Id::from_bits(7),
        at: world.temp.now().at,
        r#type: "event",
        from: "agent.bob".to_owned(),
        to: "log.writ".to_owned(),
        intent: "agent.task_verified".to_owned(),
        corr: id.clone(),
        reply_to: None,
        priority: "normal",
        requires: None,
        payload: forged,
        kind: "task_verified".to_owned(),
        agent: "bob".to_owned(),
        project_id: Some("/w".to_owned()),
        task_id: Some(contract::domain::id::Id::parse(&id).unwrap()),
        run_id: None,
        message: "m".to_owned(),
    };
    let mut store = store::Store::open(&world.temp.path(), world.temp.now().at).unwrap();
    let tx = store.begin().unwrap();
    tx.append(&store::Stream::Project("/w".to_owned()), event).unwrap();
    tx.commit().unwrap();
    assert_eq!(shown(&mut world), seen);
}

fn digest(world: &World, path: &str, digest: &str) {
    world.host.paper.borrow_mut().pinned.insert(path.to_owned(), digest.to_owned());
}

#[test]
fn passed_checks_are_only_a_claim_if_what_they_use_changed_whatever_verb_asks() {
    for (verb, completes) in VERBS {
        let mut world = World::new();
        digest(&world, "check.sh", "sha256:1");
        let id = made(&mut world, &["sh check.sh"]);
        digest(&world, "check.sh", "sha256:2");
        completes(&mut world, "bob", &id).unwrap();
        let task = world.get(&id);
        let reason = "its checks use `check.sh`, which changed since the task was created";
        assert_eq!(
            (task.status, task.evidence, task.withheld().as_deref()),
            (Status::Done, Some(Evidence::Claimed), Some(reason)),
            "{verb}"
        );
    }
}

#[test]
fn a_projects_checks_are_only_a_claim_if_what_they_use_changed_since_a_person_trusted_it() {
    for (verb, completes) in VERBS {
        for (now, evidence) in [("sha256:1", Evidence::Verified), ("sha256:2", Evidence::Claimed)] {
            let mut world = World::new();
            let id = made(&mut world, &[]);
            // The project has a file with the name of the argument.
            digest(&world, "test", "sha256:1");
            world.trust("/w");
            digest(&world, "test", now);
            completes(&mut world, "bob", &id).unwrap();
            let task = world.get(&id);
            assert_eq!((task.status, task.evidence), (Status::Done, Some(evidence)), "{verb}");
            let reason = "its checks use `test`, which changed since a person trusted it";
            let reason = Some(reason).filter(|_| evidence == Evidence::Claimed);
            assert_eq!(task.withheld().as_deref(), reason, "{verb}");
        }
    }
}
