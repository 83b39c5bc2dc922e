//! Every error code of section 12 of the AOP contract is reached, with a real child where one starts.

use contract::domain::failure_code::FailureCode;
use serde_json::{Value, json};
use testkit::Cli;

use crate::aop_tasks::{answered, response};
use crate::documents::{agent, aop, with, writ};
use crate::read_back::{Worked, work};

/// The code of a document that is refused before it becomes a run.
fn refused(cli: &Cli, document: &str) -> String {
    let output = cli.call(["run", "-", "--output", "json"]).stdin(document).run();
    output.fails_with(1);
    output.json()["error_context"]["aop_code"].as_str().unwrap_or_default().to_owned()
}

/// The code with which a TASK of this run failed: in its line, and at the beginning of its reason, if that has one. The trace
/// has it too.
fn failed(worked: &Worked<'_>, name: &str) -> String {
    worked.output.fails_with(1);
    let reason = worked.reason(name).split(':').next().unwrap_or_default();
    let code = worked.task(name)["code"].as_str().unwrap_or_default();
    assert!(FailureCode::parse(reason).is_none_or(|said| said.as_str() == code), "{}", worked.task(name));
    assert!(
        worked.trace().iter().any(|event| event.to_string().contains(code)),
        "{code} is not in the trace"
    );
    code.to_owned()
}

/// The same of one TASK whose child does these steps, with more fields.
fn of_child(cli: &Cli, script: &str, fields: Value) -> String {
    failed(&work(cli, &with(aop(cli, script), fields)), "T-1")
}

/// The same with more fields inside `task`.
fn of_work(cli: &Cli, script: &str, fields: Value) -> String {
    let mut document = aop(cli, script);
    document["task"] = with(document["task"].take(), fields);
    failed(&work(cli, &document), "T-1")
}

/// The codes of the warnings in the answer of a run that succeeded.
fn warned(cli: &Cli, document: &Value) -> String {
    let worked = work(cli, document).succeeded();
    let warnings = worked.result["warnings"].as_array().cloned().unwrap_or_default();
    let codes = warnings.iter().filter_map(|warning| warning["code"].as_str());
    codes.filter(|code| FailureCode::parse(code).is_some()).collect::<Vec<_>>().join(" ")
}

/// A TASK of a session with this id and parent, which may delegate.
fn level(cli: &Cli, id: &str, parent: Option<&str>) -> Value {
    let mut task = aop(cli, "aop-success");
    task["session"]["workflow_pattern"] = json!("HIERARCHICAL");
    let fields =
        json!({"task_id": id, "parent_task_id": parent, "constraints": {"delegation_allowed": true}});
    task["task"] = with(task["task"].take(), fields);
    task
}

/// The codes that the scenarios of a code lead to.
fn reached(code: FailureCode, cli: &Cli) -> Vec<String> {
    match code {
        FailureCode::Timeout => {
            vec![of_child(cli, "hang", json!({"execution_policy": {"timeout_seconds": 1}}))]
        }
        FailureCode::HeartbeatFailure => {
            let beats = json!({"enabled": true, "interval_seconds": 1, "max_missed_beats": 1});
            vec![of_child(cli, "hang", json!({"execution_policy": {"heartbeat": beats}}))]
        }
        FailureCode::ParseFailure => {
            let headless = json!({"protocol_family": "AOP", "message_type": "TASK"}).to_string();
            vec![refused(cli, &headless), of_child(cli, "aop-bad-json", json!({}))]
        }
        FailureCode::SchemaValidation => {
            let mut task = aop(cli, "aop-success");
            task["task"]["budgets"] = json!({"max_cost_usd": "much"});
            let unknown = with(aop(cli, "print STATUS: SUCCESS"), json!({"mood": "good"}));
            vec![refused(cli, &task.to_string()), warned(cli, &unknown)]
        }
        FailureCode::AgentNotFound => agent_not_found(cli),
        FailureCode::ModelUnavailable => vec![of_child(cli, "aop-failed E_MODEL_UNAVAILABLE", json!({}))],
        FailureCode::AllModelsExhausted => {
            let other = json!({"provider": "OTHER", "model": "m-2", "fallback_trigger": "ALL_ERRORS"});
            let policy = json!({"execution_policy": {"alternative_models": [other]}});
            vec![of_child(cli, "aop-failed E_MODEL_UNAVAILABLE", policy)]
        }
        FailureCode::FileNotFound => {
            let missing = json!({"inputs": [{"type": "FILE", "path": "missing.txt"}]});
            let mut elsewhere = aop(cli, "aop-success");
            elsewhere["task"]["environment"]["workspace_root"] = json!("C:/somewhere");
            vec![of_work(cli, "aop-success", missing), refused(cli, &elsewhere.to_string())]
        }
        FailureCode::PermissionDenied => {
            let read_only = json!({"constraints": {"read_only_mode": true}});
            vec![of_work(cli, "write out.txt x; aop-success", read_only)]
        }
        FailureCode::ContextOverflow => context_overflow(cli),
        FailureCode::PayloadSizeWarning => {
            let mut task = aop(cli, "aop-success");
            task["task"]["objective"] = json!("do it ".repeat(8_000));
            vec![warned(cli, &task)]
        }
        FailureCode::MalformedResponse => vec![of_child(cli, "aop-two-responses", json!({}))],
        FailureCode::DependencyFailed => dependency_failed(cli),
        FailureCode::MaxDepthExceeded => {
            work(
                cli,
                &json!([level(cli, "a", None), level(cli, "b", Some("a")), level(cli, "c", Some("b"))]),
            )
            .succeeded();
            vec![refused(cli, &level(cli, "d", Some("c")).to_string())]
        }
        FailureCode::ProcessCrash => {
            vec![of_child(cli, "exit 3", json!({})), of_child(cli, "crash", json!({}))]
        }
        FailureCode::CostLimitExceeded => {
            vec![of_work(cli, "aop-cost 0.5; aop-success", json!({"budgets": {"max_cost_usd": 0.1}}))]
        }
        FailureCode::RollbackFailed => vec![rollback_failed(cli)],
        FailureCode::Unknown => vec![of_child(cli, "aop-failed E_TEAPOT", json!({}))],
    }
}

/// No program is configured for the agent, or it is not installed.
fn agent_not_found(cli: &Cli) -> Vec<String> {
    let mut nobody = aop(cli, "");
    nobody["task"].as_object_mut().unwrap().remove("extensions");
    let mut missing = aop(cli, "");
    missing["task"]["extensions"]["x_command"] = json!(["/no/such/program"]);
    vec![refused(cli, &nobody.to_string()), failed(&work(cli, &missing), "T-1")]
}

/// A TASK with too many inputs, and a RESPONSE that is too large.
fn context_overflow(cli: &Cli) -> Vec<String> {
    let mut many = aop(cli, "aop-success");
    many["task"]["inputs"] = json!(vec![json!({"type": "TEXT", "content": "x"}); 101]);
    let large = response(json!({"extensions": {"x_padding": "x".repeat(520_000)}}));
    vec![refused(cli, &many.to_string()), failed(&work(cli, &answered(cli, &[large])), "T-1")]
}

/// The TASK before it in a chain failed, or its parent is unknown.
fn dependency_failed(cli: &Cli) -> Vec<String> {
    let mut tasks = [aop(cli, "exit 3"), aop(cli, "aop-success")];
    for (task, id) in tasks.iter_mut().zip(["first", "second"]) {
        task["session"]["workflow_pattern"] = json!("CHAIN");
        task["task"]["task_id"] = json!(id);
    }
    let orphan = level(cli, "orphan", Some("nobody"));
    vec![failed(&work(cli, &json!(tasks)), "second"), refused(cli, &orphan.to_string())]
}

/// Somebody changed a file after the TASK that is to be taken back.
fn rollback_failed(cli: &Cli) -> String {
    cli.scratch().write("project/src/a.txt", "before");
    let mut task = aop(cli, "write src/a.txt after; aop-success");
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["src"]}});
    work(cli, &task).succeeded();
    cli.scratch().write("project/src/a.txt", "a person's");
    let answer = cli.run(["rollback", "T-1", "--output", "json"]).fails_with(1).json();
    answer["data"]["code"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_error_code_of_the_contract_is_reached() {
    assert_eq!(FailureCode::ALL.len(), 18);
    assert!(agent().ends_with("fake-agent"), "the children are real programs");
    for &code in FailureCode::ALL {
        let cli = writ();
        let codes = reached(code, &cli);
        assert!(!codes.is_empty() && codes.iter().all(|one| one == code.as_str()), "{code}: {codes:?}");
        assert_eq!(cli.leftovers(), Vec::<u32>::new(), "{code}");
    }
}
