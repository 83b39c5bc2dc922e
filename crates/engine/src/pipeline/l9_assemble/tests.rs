use contract::domain::plan::PlanTask;

use super::*;
use crate::pipeline::layer::{Fetched, LeaveFacts};
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{call, decisions, delta, request, run_of, task};

fn ended(number: i64, status: Status, evidence: Option<Evidence>) -> (Task, Vec<Attempt>) {
    let ended = Task { status, evidence, ..task(number, PlanTask::minimal(&format!("t{number}"))) };
    (ended, Vec::new())
}

fn answer(run: &NewRun, tasks: &[(Task, Vec<Attempt>)], end: &WalkEnd) -> (Vec<String>, FinalAnswer) {
    let facts = LeaveFacts { run, tasks, end, stack_id: "default", branch: None, total_ms: 7 };
    let outcome = call(super::run, &Fetched::Leave(facts));
    let told = decisions(&outcome);
    let state = delta(&outcome);
    let Next::Continue(Handed::Answer(answer)) = outcome.next else { panic!("no answer") };
    assert_eq!(state["C5.Execution.state"], json!(answer.state));
    assert_eq!(state["C5.Execution.final_signal"], answer.result["final_signal"]);
    (told, *answer)
}

#[track_caller]
fn assert_worked(tasks: &[(Task, Vec<Attempt>)], state: RunState, decision: &str) {
    let (told, answer) = answer(&run_of(Vec::new()), tasks, &WalkEnd::Worked);
    assert_eq!((answer.state, told), (state, vec![format!("ASSEMBLED: {decision}")]));
    assert_eq!(answer.result["tasks"].as_array().unwrap().len(), tasks.len());
    assert_eq!(answer.reply["tasks"], answer.result["tasks"]);
    assert_eq!(answer.result["answer"], Value::Null);
}

#[test]
fn the_ends_of_the_tasks_decide_about_the_run() {
    let verified = ended(1, Status::Done, Some(Evidence::Verified));
    let claimed = ended(2, Status::Done, Some(Evidence::Claimed));
    let failed = ended(3, Status::Failed, None);
    let canceled = ended(4, Status::Canceled, None);
    let blocked = ended(5, Status::Blocked, None);
    assert_worked(std::slice::from_ref(&verified), RunState::Done, "SUCCESS: 1 of 1 tasks done");
    let tasks = [verified.clone(), claimed];
    assert_worked(&tasks, RunState::Done, "SUCCESS: 2 of 2 tasks done, 1 only claimed");
    let done = verified.clone();
    let tasks = [verified, failed.clone(), canceled];
    assert_worked(&tasks, RunState::Failed, "PARTIAL_SUCCESS: 1 of 3 tasks done, 1 failed, 1 canceled");
    let tasks = [failed.clone()];
    assert_worked(&tasks, RunState::Failed, "FAILURE: 0 of 1 tasks done, 1 failed, 0 canceled");
    let tasks = [failed, blocked.clone()];
    assert_worked(&tasks, RunState::Stopped, "FAILURE: 1 of 2 tasks wait for a person");
    let tasks = [done, blocked.clone()];
    assert_worked(&tasks, RunState::Stopped, "PARTIAL_SUCCESS: 1 of 2 tasks wait for a person");
    let tasks = [blocked, ended(6, Status::Todo, None)];
    let expected = "FAILURE: 1 of 2 tasks wait for a person, 1 waits for other tasks";
    assert_worked(&tasks, RunState::Stopped, expected);
}

#[test]
fn an_answer_of_a_layer_is_the_runs_answer() {
    let given = json!({"pong": true});
    let run = request("aee.status.ping", json!({}));
    let (told, answer) = answer(&run, &[], &WalkEnd::Answered(given.clone()));
    assert_eq!(told, ["ASSEMBLED: SUCCESS: answered directly"]);
    assert_eq!(
        (answer.state, &answer.result["answer"], answer.reply),
        (RunState::Done, &given, given.clone())
    );
}

#[test]
fn a_refusal_is_an_error_reply() {
    let (told, answer) = answer(&run_of(Vec::new()), &[], &WalkEnd::Refused("not allowed".into()));
    assert_eq!(told, ["ASSEMBLED: FAILURE: not allowed"]);
    let reply = json!({"code": "REFUSED", "message": "not allowed", "retryable": false});
    assert_eq!((answer.state, answer.reply), (RunState::Failed, reply));
}

#[test]
fn a_parked_run_can_be_continued() {
    let tasks = [ended(1, Status::Todo, None)];
    let (told, answer) =
        answer(&run_of(Vec::new()), &tasks, &WalkEnd::Parked("waits for a person".to_owned()));
    assert_eq!(told, ["ASSEMBLED: FAILURE: waits for a person"]);
    assert_eq!((answer.state, &answer.result["reason"]), (RunState::Stopped, &json!("waits for a person")));
}

#[test]
fn a_canceled_run_says_how_far_it_came() {
    let tasks = [ended(1, Status::Done, None), ended(2, Status::Canceled, None)];
    let (told, answer) = answer(&run_of(Vec::new()), &tasks, &WalkEnd::Canceled);
    assert_eq!(told, ["ASSEMBLED: ABORTED: canceled with 1 of 2 tasks done"]);
    assert_eq!(answer.state, RunState::Canceled);
}

#[test]
fn evidence_is_given_only_at_the_level_that_was_required() {
    let evidence = |level: &str| {
        let mut run = request("writ.run.plan", json!({}));
        run.intent.as_mut().unwrap().requires = json!({"decision_evidence": level});
        answer(&run, &[], &WalkEnd::Worked).1.reply.get("decision_evidence").cloned()
    };
    assert_eq!(evidence("none"), None);
    assert_eq!(evidence("unknown"), None);
    let minimal = json!({"decision": "SUCCESS", "reason_summary": "0 of 0 tasks done"});
    assert_eq!(evidence("minimal"), Some(minimal));
    assert_eq!(evidence("full").unwrap()["context_refs"], json!(["writ://trace/corr-1"]));
}
