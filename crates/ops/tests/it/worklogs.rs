//! Worklogs: who may write, what is written, and what a changed file is told.

use contract::domain::crew::token::LockToken;
use contract::json::Value;
use ops::Result;
use ops::worklog::{self, append, show, verify};
use serde_json::json;

use crate::crew_world::{Crew, denied};

fn entry(action: &str) -> Value {
    json!({"action": action, "files_touched": ["a/x"], "decision": "d", "result": "r", "next_step": "n"})
}

fn wrote(crew: &mut Crew, token: Option<LockToken>, entry: Value) -> Result<append::Answer> {
    let key = crew.key();
    let request =
        append::Request { run: crew.run.clone(), task: "T-1".to_owned(), token, entry, strict: false };
    Ok(append::append(&mut crew.world.cx, &key, &request)?.answer)
}

fn file(crew: &mut Crew) -> Vec<u8> {
    worklog::file(&mut crew.world.cx, &crew.run.clone(), "T-1").unwrap().bytes
}

fn verified(crew: &mut Crew) -> (String, Value) {
    let bytes = Some(file(crew)).filter(|bytes| !bytes.is_empty());
    judged(crew, bytes.as_deref())
}

fn judged(crew: &mut Crew, file: Option<&[u8]>) -> (String, Value) {
    crew.paper().worklog = file.map(<[u8]>::to_vec);
    let request = show::Request { run: crew.run.clone(), task: "T-1".to_owned() };
    let verdict = verify::verify(&mut crew.world.cx, &request).unwrap();
    (verdict.code.clone(), json!(verdict.details.rule))
}

fn with_task() -> Crew {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    crew
}

#[test]
fn only_the_current_holder_writes_while_the_task_is_in_progress() {
    let mut crew = with_task();
    assert_eq!(wrote(&mut crew, None, entry("planned")).unwrap().number, 1);
    let token = crew.issue("T-1").unwrap().token;
    denied(wrote(&mut crew, None, entry("from outside")), "MISSING_REQUIRED_INPUT", "missing");
    let next = crew.token("T-1", token.number + 1);
    denied(wrote(&mut crew, Some(next), entry("x")), "CONCURRENCY_CONFLICT", "stale_fencing_token");
    assert_eq!(wrote(&mut crew, Some(token), entry("begun")).unwrap().number, 2);
    crew.world.temp.clock().advance(std::time::Duration::from_secs(61));
    crew.sweep();
    denied(wrote(&mut crew, Some(token), entry("late")), "CONCURRENCY_CONFLICT", "stale_fencing_token");
    crew.holds();
}

#[test]
fn an_entry_is_whole_scrubbed_and_follows_the_one_before_it() {
    let mut crew = with_task();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let first = wrote(&mut crew, None, entry(&format!("used {secret}"))).unwrap();
    assert!(!first.entry.to_string().contains(&secret), "{}", first.entry);
    assert_eq!((&first.entry["task_id"], &first.entry["actor"]), (&json!("T-1"), &json!("orchestrator")));
    wrote(&mut crew, None, entry("second")).unwrap();
    let bytes = file(&mut crew);
    let second: Value = serde_json::from_slice(bytes.split(|b| *b == b'\n').nth(1).unwrap()).unwrap();
    assert_eq!(second["x_previous"], first.digest.as_str());
    let mut back = entry("third");
    back["timestamp"] = json!("1999-01-01T00:00:00Z");
    denied(wrote(&mut crew, None, back), "NON_COMPLIANT", "time_goes_back");
    let mut other = entry("third");
    other["task_id"] = json!("T-2");
    denied(wrote(&mut crew, None, other), "NON_COMPLIANT", "identity_mismatch");
    denied(wrote(&mut crew, None, json!({"decision": "no action"})), "MISSING_REQUIRED_INPUT", "missing");
    assert_eq!(file(&mut crew), bytes);
    crew.holds();
}

#[test]
fn verify_reports_a_file_that_is_behind_missing_or_changed() {
    let mut crew = with_task();
    assert_eq!(judged(&mut crew, None), ("OK".to_owned(), Value::Null));
    wrote(&mut crew, None, entry("one")).unwrap();
    wrote(&mut crew, None, entry("two")).unwrap();
    let bytes = file(&mut crew);
    assert_eq!(judged(&mut crew, Some(&bytes)), ("OK".to_owned(), Value::Null));
    assert_eq!(judged(&mut crew, None).1, "file_missing");
    assert_eq!(judged(&mut crew, Some(&bytes[..bytes.len() - 3])).1, "file_behind");
    assert_eq!(judged(&mut crew, Some(&[&bytes, b"{}\n".as_slice()].concat())).1, "not_append_only");
    let edited = String::from_utf8(bytes).unwrap().replace("one", "eno");
    assert_eq!(judged(&mut crew, Some(edited.as_bytes())).1, "not_append_only");
}

#[test]
fn a_result_that_is_not_done_needs_a_last_entry_that_says_why() {
    let mut crew = with_task();
    let token = crew.issue("T-1").unwrap().token;
    wrote(&mut crew, Some(token), entry("tried")).unwrap();
    let result = crew.result("T-1", token, "blocked");
    denied(crew.submit(result.clone(), Vec::new()), "MISSING_REQUIRED_INPUT", "final_entry");
    let mut last = entry("gave up");
    last["code"] = json!("MISSING_REQUIRED_INPUT");
    wrote(&mut crew, Some(token), last.clone()).unwrap();
    crew.submit(result, Vec::new()).unwrap();
    denied(wrote(&mut crew, None, entry("afterthought")), "MISSING_REQUIRED_INPUT", "final_entry");
    last["action"] = json!("asked the author");
    wrote(&mut crew, None, last).unwrap();
    let bytes = file(&mut crew);
    assert_eq!(judged(&mut crew, Some(&bytes)).0, "OK");
    crew.holds();
}

#[test]
fn a_result_that_is_not_done_needs_an_entry_of_its_own_assignment() {
    for status in ["blocked", "failed"] {
        let mut crew = with_task();
        let token = crew.issue("T-1").unwrap().token;
        denied(
            crew.submit(crew.result("T-1", token, status), Vec::new()),
            "MISSING_REQUIRED_INPUT",
            "final_entry",
        );
        let error = crew.submit(crew.result("T-1", token, status), Vec::new()).unwrap_err();
        assert!(error.hint.as_deref().unwrap().contains("writ worklog append"), "{error:?}");
        crew.explain("T-1", token).unwrap();
        crew.submit(crew.result("T-1", token, status), Vec::new()).unwrap();
        assert_eq!(verified(&mut crew).0, "OK");
        crew.holds();
    }
    // What the last attempt wrote does not explain this one.
    let mut crew = with_task();
    let first = crew.issue("T-1").unwrap().token;
    crew.explain("T-1", first).unwrap();
    crew.submit(crew.result("T-1", first, "blocked"), Vec::new()).unwrap();
    let blocker = crew.show()["open_blockers"][0].clone();
    assert_eq!(
        (&blocker["code"], &blocker["details"]["next_step"]),
        (&json!("DEPENDENCY_NOT_MET"), &json!("ask the author"))
    );
    let anew = json!([{"task_id": "T-1", "status": "todo", "owner": "", "reason": "r", "delta_id": "anew"}]);
    crew.apply(crew.envelope(anew), false).unwrap();
    let second = crew.issue("T-1").unwrap().token;
    denied(
        crew.submit(crew.result("T-1", second, "blocked"), Vec::new()),
        "MISSING_REQUIRED_INPUT",
        "final_entry",
    );
}

#[test]
fn verify_denies_a_blocked_task_whose_worklog_does_not_say_why() {
    let mut crew = with_task();
    let token = crew.issue("T-1").unwrap().token;
    crew.world.temp.clock().advance(std::time::Duration::from_secs(61));
    crew.sweep();
    assert_eq!(verified(&mut crew), ("MISSING_REQUIRED_INPUT".to_owned(), json!("final_entry")));
    wrote(&mut crew, None, entry("looked at it")).unwrap();
    assert_eq!(verified(&mut crew), ("MISSING_REQUIRED_INPUT".to_owned(), json!("final_entry")));
    let mut last = entry("found the reason");
    last["code"] = json!("TASK_TIMEOUT");
    wrote(&mut crew, None, last).unwrap();
    assert_eq!(verified(&mut crew).0, "OK");
    denied(wrote(&mut crew, Some(token), entry("late")), "CONCURRENCY_CONFLICT", "stale_fencing_token");
}

#[test]
fn an_entry_has_all_fields_of_the_contract_and_no_unknown_ones_in_strict_mode() {
    for missing in ["action", "files_touched", "decision", "result", "next_step"] {
        let mut crew = with_task();
        let mut short = entry("x");
        short.as_object_mut().unwrap().remove(missing);
        let error = wrote(&mut crew, None, short).unwrap_err();
        assert_eq!(error.code.as_str(), "MISSING_REQUIRED_INPUT");
        assert_eq!(error.details["details"]["path"], format!("$.{missing}"), "{}", error.details);
        assert!(file(&mut crew).is_empty());
    }
    let mut crew = with_task();
    let strict = |crew: &mut Crew, field: &str| {
        let key = crew.key();
        let mut entry = entry("x");
        entry[field] = json!("more");
        let (run, task) = (crew.run.clone(), "T-1".to_owned());
        let request = append::Request { run, task, token: None, entry, strict: true };
        append::append(&mut crew.world.cx, &key, &request)
    };
    denied(strict(&mut crew, "mood"), "SCHEMA_INVALID", "unknown_field");
    strict(&mut crew, "x_mood").unwrap();
    strict(&mut crew, "evidence").unwrap();
}

#[test]
fn a_strict_result_wants_a_worklog() {
    let mut crew = with_task();
    let token = crew.issue("T-1").unwrap().token;
    let submit = |crew: &mut Crew, strict| {
        let key = crew.key();
        let document = crew.result("T-1", token, "done");
        let request =
            ops::result::submit::Request { document, token: None, cost: None, tokens: None, strict };
        ops::result::submit::submit(&mut crew.world.cx, &key, &request)
    };
    denied(submit(&mut crew, true), "MISSING_REQUIRED_INPUT", "final_entry");
    wrote(&mut crew, Some(token), entry("did it")).unwrap();
    submit(&mut crew, true).unwrap();
    crew.holds();
}

#[test]
fn a_worklog_outside_the_workspace_is_refused() {
    let mut crew = with_task();
    crew.paper().links.insert("worklogs".to_owned(), "/etc".to_owned());
    denied(wrote(&mut crew, None, entry("x")), "SCOPE_VIOLATION", "workspace_escape");
}
