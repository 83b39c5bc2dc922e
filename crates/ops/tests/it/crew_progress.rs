//! A worker that sends heartbeats and changes nothing is found by the watchdog.

use std::time::Duration;

use contract::domain::crew::snapshot::Snapshot;
use contract::domain::crew::token::LockToken;
use ops::watchdog;
use serde_json::{Value, json};

use crate::crew_world::Crew;
use crate::world::caller;

fn assigned() -> (Crew, LockToken) {
    let mut crew = Crew::new();
    crew.task("T-1", &["src/a"], json!({}));
    let token = crew.issue("T-1").unwrap().token;
    (crew, token)
}

/// Heartbeats in time, for so many seconds.
fn beat_for(crew: &mut Crew, token: LockToken, seconds: i64) {
    for _ in 0..seconds / 20 {
        crew.world.clock().advance(Duration::from_secs(20));
        crew.heartbeat("T-1", token).unwrap();
    }
}

fn problems(crew: &mut Crew) -> Vec<(Value, Value)> {
    let swept = crew.sweep();
    assert!(swept.timed_out.is_empty() && swept.released.is_empty(), "{swept:?}");
    swept.problems.iter().map(|found| (found["task_id"].clone(), found["rule"].clone())).collect()
}

fn found() -> Vec<(Value, Value)> {
    vec![(json!("T-1"), json!("no_progress"))]
}

fn file(digest: &str) -> Snapshot {
    Snapshot { files: [("src/a".to_owned(), digest.to_owned())].into(), ..Snapshot::default() }
}

#[test]
fn heartbeats_without_any_change_for_a_whole_timeout_are_a_finding() {
    let (mut crew, token) = assigned();
    beat_for(&mut crew, token, 40);
    assert_eq!(problems(&mut crew), [], "the timeout of 60 s has not passed");
    beat_for(&mut crew, token, 40);
    let before = crew.world.state();
    assert_eq!(problems(&mut crew), found());
    assert_eq!(problems(&mut crew), found(), "it is found again until something changes");
    assert_eq!(crew.world.state(), before, "a finding writes nothing");
    // The same without the name of a run.
    let all = watchdog::sweep(&mut crew.world.cx, &caller("w"), &watchdog::Request::default()).unwrap();
    assert_eq!(all.problems.len(), 1);
    crew.heartbeat("T-1", token).expect("a finding ends nothing");
}

#[test]
fn a_worklog_line_an_event_and_a_changed_file_are_progress() {
    let (mut crew, token) = assigned();
    beat_for(&mut crew, token, 80);
    crew.explain("T-1", token).unwrap();
    assert_eq!(problems(&mut crew), []);
    beat_for(&mut crew, token, 80);
    assert_eq!(problems(&mut crew), found());
    crew.paper().files = file("sha256:1");
    assert_eq!(problems(&mut crew), [], "a file changed");
    beat_for(&mut crew, token, 40);
    assert_eq!(problems(&mut crew), [], "the timeout counts from there");
    beat_for(&mut crew, token, 40);
    assert_eq!(problems(&mut crew), found(), "the file is as it was seen last");
    crew.paper().files = file("sha256:2");
    assert_eq!(problems(&mut crew), []);
    crew.holds();
}

#[test]
fn one_look_at_a_workspace_serves_all_assignments_in_it() {
    const TASKS: usize = 70;
    let mut crew = Crew::new();
    let names: Vec<String> = (1..=TASKS).map(|number| format!("T-{number}")).collect();
    let mut tokens = Vec::new();
    for name in &names {
        crew.task(name, &[&format!("src/{name}")], json!({}));
        tokens.push(crew.issue(name).unwrap().token);
    }
    for _ in 0..4 {
        crew.world.clock().advance(Duration::from_secs(20));
        for (name, token) in names.iter().zip(&tokens) {
            crew.heartbeat(name, *token).unwrap();
        }
    }
    let asked = crew.world.host.asked();
    let swept = crew.sweep();
    assert_eq!((swept.problems.len(), swept.not_looked_at), (TASKS, 0));
    assert_eq!(crew.world.host.asked() - asked, 1, "one look");
}

#[test]
fn a_scope_that_is_too_large_to_be_digested_proves_nothing() {
    let (mut crew, token) = assigned();
    beat_for(&mut crew, token, 80);
    crew.paper().files.is_partial = true;
    assert_eq!(problems(&mut crew), []);
}
