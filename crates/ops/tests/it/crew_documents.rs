//! The operator's documents, valid and not, through the verbs that take them: what a validator denies is refused with
//! the same code, and nothing of it is stored.

use std::path::PathBuf;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::task::TaskId;
use serde_json::{Map, Value, json};
use store::Stream;
use testkit::SeededIds;

use crate::crew_world::{Crew, RUN};

/// The cases of one validator whose input is a document.
fn cases(validator: &str) -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../contract/vectors/operator");
    let mut cases = Vec::new();
    for place in ["valid", "invalid"] {
        for entry in std::fs::read_dir(folder.join(place)).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            // Some hold what strict readers refuse; those never come as far as a verb.
            let Ok(case) = serde_json::from_str::<Value>(&text) else { continue };
            if case["validator"] == validator && case.get("input").is_some() {
                cases.push(case);
            }
        }
    }
    cases.sort_by_key(|case| case["name"].to_string());
    cases
}

/// A ledger in which the named tasks are to be done and the others are done.
fn ledger(case: &Value, open: &[&Value], done: &[&Value]) -> Crew {
    let mut crew = Crew::new();
    let input = &case["input"];
    let run =
        input["run_id"].as_str().filter(|text| Id::<contract::domain::id::Run>::from_uuid(text).is_some());
    run.unwrap_or(RUN).clone_into(&mut crew.run);
    if let Some(root) = case["options"]["root"].as_str() {
        root.clone_into(&mut crew.workspace);
    }
    let mut rows = Map::new();
    for (names, status) in [(open, "todo"), (done, "done")] {
        for name in
            names.iter().filter_map(|name| name.as_str()).filter(|name| TaskRef::parse(name).is_some())
        {
            rows.entry(name).or_insert_with(|| json!({"status": status, "owner": "w"}));
        }
    }
    let finished: Vec<String> =
        rows.iter().filter(|(_, row)| row["status"] == "done").map(|(name, _)| name.clone()).collect();
    let made = crew.seed(&json!({"version": 1, "rows": rows}));
    for (index, (_, task_id)) in
        made.iter().filter(|(name, _)| finished.contains(&name.to_string())).enumerate()
    {
        accept(&crew, task_id, 1000 + i64::try_from(index).unwrap());
    }
    crew
}

/// A result from before, so that a done row is not a contradiction.
fn accept(crew: &Crew, task_id: &TaskId, token: i64) {
    let mut store = crew.world.temp.open();
    let tx = store.begin().unwrap();
    let run_id = Id::from_uuid(&crew.run).unwrap();
    let accepted = CrewChange::ResultAccepted {
        token,
        run_id: Id::from_uuid(&crew.run).unwrap(),
        task_id: task_id.clone(),
        status: "done".to_owned(),
        result: json!({}),
        checks: Vec::new(),
        changes: None,
    };
    let seed = u64::try_from(token).unwrap();
    let event = testkit::event(&mut SeededIds::new(seed), &crew.world.temp.now(), "seeded");
    tx.change(&Stream::Run(run_id), event, &Change::Crew(accepted)).unwrap();
    tx.commit().unwrap();
}

#[track_caller]
fn compare<A: std::fmt::Debug>(
    case: &Value,
    crew: &mut Crew,
    before: (Vec<String>, ops::Tip),
    answer: ops::Result<A>,
) {
    let expect = &case["expect"];
    match answer {
        Ok(_) => assert_eq!(expect["allow"], true, "{} should be refused", case["name"]),
        Err(error) => {
            assert_eq!(expect["code"], error.code.as_str(), "{}: {error} {}", case["name"], error.details);
            assert_eq!(crew.world.state(), before, "{}: a refusal writes nothing", case["name"]);
        }
    }
    crew.holds();
}

#[test]
fn assignments_are_issued_as_their_validator_says() {
    let all = cases("assignment");
    assert!(all.len() >= 30, "{}", all.len());
    for case in all {
        let task = &case["input"]["task"];
        let needed: Vec<&Value> = task["dependencies"].as_array().into_iter().flatten().collect();
        let mut crew = ledger(&case, &[&task["task_id"]], &needed);
        let mut round = crew.envelope(json!([]));
        round["assignments"] = json!([case["input"]]);
        let before = crew.world.state();
        let answer = crew.step(round, case["options"]["strict"] == true);
        compare(&case, &mut crew, before, answer);
    }
}

#[test]
fn steps_are_applied_as_their_validator_says() {
    let all = cases("envelope");
    assert!(all.len() >= 6, "{}", all.len());
    for case in all {
        let input = &case["input"];
        let deltas: Vec<&Value> =
            input["ledger_delta"].as_array().into_iter().flatten().map(|delta| &delta["task_id"]).collect();
        let given: Vec<&Value> = input["assignments"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|packet| &packet["task"]["task_id"])
            .collect();
        let mut crew = ledger(&case, &[deltas, given].concat(), &[]);
        crew.live_when(&input["ledger_delta"]);
        let before = crew.world.state();
        let answer = crew.step(input.clone(), case["options"]["strict"] == true);
        compare(&case, &mut crew, before, answer);
    }
}

#[test]
fn results_are_accepted_as_their_validator_says() {
    let all = cases("result");
    assert!(all.len() >= 10, "{}", all.len());
    for case in all.iter().filter(|case| case["options"]["strict"] != true) {
        let input = &case["input"];
        let packet = match case["options"].get("assignment") {
            Some(packet) => packet.clone(),
            None => answered_by(input),
        };
        let mut crew =
            ledger(&json!({"input": packet, "options": case["options"]}), &[&packet["task"]["task_id"]], &[]);
        let mut round = crew.envelope(json!([]));
        round["assignments"] = json!([packet]);
        let given = crew.step(round, false).unwrap_or_else(|error| panic!("{}: {error}", case["name"]));
        let token = given.assignments[0].token;
        if matches!(input["status"].as_str(), Some("blocked" | "failed")) {
            crew.explain(packet["task"]["task_id"].as_str().unwrap(), token).unwrap();
        }
        let before = crew.world.state();
        let key = crew.key();
        let request = ops::result::submit::Request {
            document: input.clone(),
            token: Some(token),
            cost: None,
            tokens: None,
            strict: false,
        };
        let answer = ops::result::submit::submit(&mut crew.world.cx, &key, &request);
        compare(case, &mut crew, before, answer);
    }
}

#[test]
fn a_packet_has_the_priority_of_its_row_and_normal_where_none_is_set() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    crew.task("T-2", &["b"], json!({"priority": "high"}));
    assert_eq!(crew.issue("T-1").unwrap().packet["task"]["priority"], "normal");
    assert_eq!(crew.issue("T-2").unwrap().packet["task"]["priority"], "high");
}

/// An assignment that a result by itself would answer.
fn answered_by(result: &Value) -> Value {
    let text = |name: &str, or: &str| {
        let given = result[name].as_str().filter(|text| !text.trim().is_empty());
        given.unwrap_or(or).to_owned()
    };
    let criteria = result["acceptance_check"].as_array().into_iter().flatten();
    let mut criteria: Vec<&str> = criteria.filter_map(|check| check["criterion"].as_str()).collect();
    criteria.retain(|criterion| !criterion.trim().is_empty());
    if criteria.is_empty() {
        criteria.push("it works");
    }
    let task = Some(text("task_id", "T-12")).filter(|name| TaskRef::parse(name).is_some());
    let run =
        Some(text("run_id", RUN)).filter(|run| Id::<contract::domain::id::Run>::from_uuid(run).is_some());
    json!({
        "schema_version": "1.0.0", "run_id": run.unwrap_or_else(|| RUN.to_owned()), "packet_type": "assignment",
        "global_objective": "o", "active_locks": [], "context_package": [],
        "required_output_schema": "subagent_result_v1",
        "task": {
            "task_id": task.unwrap_or_else(|| "T-12".to_owned()), "title": "t", "type": "parallelizable",
            "dependencies": [], "lock_scope": ["."], "forbidden_scope": [], "acceptance_criteria": criteria,
            "worklog_path": text("worklog_path", "worklogs/T-12.jsonl"), "timeout_seconds": 60,
            "heartbeat_interval_seconds": 5,
        },
    })
}
