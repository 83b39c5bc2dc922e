//! The crew's verbs and the machine: what they ask of it, and what they do not ask twice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ops::orchestrate::OrchestratorProgram;
use ops::orchestrate::step::{Request, step};
use ops::{assignment, lock};
use serde_json::json;

use crate::crew_world::{Crew, denied};
use crate::world::key;

fn with_task() -> Crew {
    let mut crew = Crew::new();
    crew.task("T-1", &["src"], json!({}));
    crew
}

fn asking(crew: &Crew) -> Request {
    let argv = vec!["orchestrator".to_owned()];
    Request {
        document: None,
        program: Some(OrchestratorProgram { argv, run: Some(crew.run.clone()), timeout_ms: None }),
        objective: None,
        workspace: None,
        strict: false,
    }
}

#[test]
fn a_repeated_step_gets_its_answer_and_does_not_ask_its_program_again() {
    let mut crew = with_task();
    let (request, key) = (asking(&crew), key("orchestrator", "step"));
    let printed = crew.envelope(json!([])).to_string().into_bytes();
    crew.paper().printed = printed;
    let first = step(&mut crew.world.cx, &key, &request).unwrap();
    assert!(!first.replayed);
    // It would say something else now.
    crew.paper().printed = b"no document".to_vec();
    let asked = crew.world.host.asked();
    let again = step(&mut crew.world.cx, &key, &request).unwrap();
    assert_eq!((again.answer, again.replayed), (first.answer, true));
    assert_eq!(crew.world.host.asked(), asked);
}

#[test]
fn a_program_that_is_asked_about_one_run_answers_about_that_run() {
    let mut crew = with_task();
    let request = asking(&crew);
    let mut document = crew.envelope(json!([]));
    document["run_id"] = json!("11111111-2222-4333-8444-555555555555");
    crew.paper().printed = document.to_string().into_bytes();
    let key = crew.key();
    denied(step(&mut crew.world.cx, &key, &request), "NON_COMPLIANT", "identity_mismatch");
    let both = Request { document: Some(document), ..request };
    let refused = step(&mut crew.world.cx, &key, &both).unwrap_err();
    assert_eq!(refused.message, "either document or program is required, not both");
}

#[test]
fn an_assignment_that_was_interrupted_before_its_snapshot_gets_it_when_it_is_repeated() {
    let mut crew = with_task();
    crew.paper().files.files.insert("src/a".to_owned(), "sha256:1".to_owned());
    let request = assignment::issue::Request {
        run: crew.run.clone(),
        task: Some("T-1".to_owned()),
        ..Default::default()
    };
    let key = crew.key();
    crew.world.host.stop_at.set(Some("a snapshot"));
    let interrupted =
        catch_unwind(AssertUnwindSafe(|| assignment::issue::issue(&mut crew.world.cx, &key, &request)));
    assert!(interrupted.is_err());
    let show = |crew: &mut Crew| {
        let (run, task) = (crew.run.clone(), "T-1".to_owned());
        assignment::show::show(&mut crew.world.cx, &assignment::show::Request { run, task }).unwrap()
    };
    assert_eq!(show(&mut crew).snapshot, None);
    let issued = assignment::issue::issue(&mut crew.world.cx, &key, &request).unwrap();
    assert!(issued.replayed);
    let snapshot = show(&mut crew).snapshot.unwrap();
    assert_eq!(snapshot.files["src/a"], "sha256:1");
    // Taken once, it is not taken again, whatever is there now.
    crew.paper().files.files.clear();
    let asked = crew.world.host.asked();
    assignment::issue::issue(&mut crew.world.cx, &key, &request).unwrap();
    assert_eq!(crew.world.host.asked(), asked);
    assert_eq!(show(&mut crew).snapshot, Some(snapshot));
    crew.holds();
}

#[test]
fn files_that_git_reports_are_checked_like_named_ones() {
    let mut crew = with_task();
    crew.issue("T-1").unwrap();
    crew.paper().changed = vec!["docs/x".to_owned()];
    let mut check = |diff: Option<&str>| {
        let request = lock::check::Request {
            run: crew.run.clone(),
            task: None,
            changed: vec!["src/a".to_owned()],
            diff: diff.map(str::to_owned),
        };
        let verdict = lock::check::check(&mut crew.world.cx, &request).unwrap();
        (verdict.code, verdict.details.more["changed_count"].clone())
    };
    assert_eq!(check(None), ("OK".to_owned(), json!(1)));
    assert_eq!(check(Some("HEAD")), ("SCOPE_VIOLATION".to_owned(), json!(2)));
}
