use super::*;
use contract::domain::id::Id;

fn caller() -> InsideTask {
    InsideTask {
        task_id: Id::from_bits(7),
        name: "build".to_owned(),
        reference: "T-2".to_owned(),
        acts: ActsFor::Run { run_id: Id::from_bits(1), depth: 2 },
    }
}

fn permitted(verb: &str, request: Value) -> Value {
    caller().permitted(verb, request).unwrap()
}

#[test]
fn every_request_is_about_the_callers_own_task() {
    let (own, run) = (json!(caller().task_id), json!(Id::<contract::domain::id::Run>::from_bits(1)));
    assert_eq!(permitted("resume", json!({"focus": "x"}))["only_task"], own);
    for name in ["build", "T-2", "run_1/build", caller().task_id.as_str()] {
        assert_eq!(permitted("task.get", json!({"id": name}))["id"], own, "{name}");
        assert_eq!(permitted("agent.push", json!({"task_id": name}))["task_id"], own, "{name}");
    }
    assert_eq!(permitted("event.note", json!({"project_id": "/p"})), json!({"task_id": own}));
    let beat = permitted("heartbeat.send", json!({"run": "x", "task": "build", "token": "1"}));
    assert_eq!(beat, json!({"run": run, "task": "T-2"}));
    let claimed = json!({"depth": 1, "parent_run": null});
    assert_eq!(permitted("run.submit", claimed), json!({"depth": 3, "parent_run": run, "parent_task": own}));
    let memory = json!({"memories": [{"key": "k", "value": "v", "scope": "task"}]});
    assert_eq!(permitted("agent.push", memory)["memories"][0]["scope_id"], own);
}

#[test]
fn other_tasks_other_scopes_and_other_verbs_are_refused() {
    let refused = [
        ("task.get", json!({"id": "T-1"})),
        ("task.complete", json!({"id": "task_"})),
        ("agent.push", json!({"task_id": "other"})),
        ("agent.push", json!({"memories": [{"key": "k", "value": "v", "scope": "global"}]})),
        ("agent.push", json!({"memories": [{"key": "k", "value": "v"}]})),
        ("agent.push", json!({"memories": [{"scope": "task", "scope_id": "task_other"}]})),
        ("event.note", json!({"task_id": "T-3"})),
        ("heartbeat.send", json!({"run": "x", "task": "T-1"})),
    ];
    for (verb, request) in refused {
        let error = caller().permitted(verb, request.clone()).unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{verb} {request}");
    }
    for entry in registry::VERBS {
        let is_open = caller().permitted(entry.name, json!({})).is_ok();
        let open = [
            "resume",
            "resume.peek",
            "task.get",
            "task.complete",
            "agent.push",
            "event.note",
            "heartbeat.send",
            "run.submit",
        ];
        assert_eq!(
            is_open,
            open.contains(&entry.name) || ABOUT_DOCUMENTS.contains(&entry.name),
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_program_that_acts_for_an_agent_closes_its_task_and_starts_no_runs() {
    let agent = Caller::agent(contract::domain::request::Agent::parse("loop-1").unwrap());
    let caller = InsideTask { acts: ActsFor::Agent(agent.clone()), ..caller() };
    assert_eq!(caller.caller(), agent);
    let closed = caller.permitted("task.complete", json!({"id": caller.task_id, "outcome": "done"})).unwrap();
    assert_eq!(closed["id"], json!(caller.task_id));
    assert_eq!(caller.permitted("resume.peek", json!({})).unwrap()["agent"], "loop-1");
    for verb in ["heartbeat.send", "run.submit"] {
        assert_eq!(caller.permitted(verb, json!({})).unwrap_err().code, ErrorCode::Denied, "{verb}");
    }
}
